package wia

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// counted is a kind of thing that a graph has many of. Two bytes of a message can
// make a value of some hundred in memory, so each kind is counted before
// anything is built, and has a limit of its own.
type counted uint8

const (
	notCounted counted = iota
	countNodes
	countValues     // inputs and outputs of graphs
	countEdges      // inputs and outputs of nodes
	countAttributes // and the tensors and graphs in their lists
	countTensors    // initializers
	countDims       // of tensors
	countValueDims  // of values, which may be symbols
	countStrings    // in attributes
	countNumbers    // likewise
	countProperties
	numCounted
)

// The limits are far above what models have: the largest graphs have some
// hundred thousand nodes.
const (
	maxNodes      = 1 << 20
	maxValues     = 1 << 20
	maxEdges      = 1 << 23
	maxAttributes = 1 << 21
	maxDims       = 1 << 25
	maxValueDims  = 1 << 22
	maxStrings    = 1 << 23
	maxNumbers    = 1 << 26
	maxProperties = 1 << 20
)

var countedNames = [numCounted]string{
	countNodes: "nodes", countValues: "values", countEdges: "inputs and outputs of nodes", countAttributes: "attributes",
	countTensors: "tensors", countDims: "dims", countValueDims: "dims of values", countStrings: "strings", countNumbers: "numbers", countProperties: "properties",
}

// tally counts what a graph has.
type tally struct{ n, max [numCounted]int64 }

// newTally makes the tally of a graph in a file of at most so many tensors, with
// eight dims for each if that is more than the limit of dims.
func newTally(maxTensors int) *tally {
	return &tally{max: [numCounted]int64{
		countNodes: maxNodes, countValues: maxValues, countEdges: maxEdges, countAttributes: maxAttributes,
		countTensors: max(int64(maxTensors), format.DefaultMaxTensors), countDims: dimLimit(maxTensors), countValueDims: maxValueDims,
		countStrings: maxStrings, countNumbers: maxNumbers, countProperties: maxProperties,
	}}
}

// dimLimit returns how many dims all tensors may have.
func dimLimit(maxTensors int) int64 { return max(maxDims, 8*int64(maxTensors)) }

// count adds the elements of a field to the tally.
func (s *source) count(d *fieldDef, f *field) error {
	n := int64(1)
	if f.typ == protowire.BytesType && d.wire != protowire.BytesType {
		b, err := s.bytes(f.start, f.end)
		if err != nil {
			return err
		}
		n = packed(d, b)
	}
	t := s.tally
	if t.n[d.counted] += n; t.n[d.counted] > t.max[d.counted] {
		return defectf(f.at, tensor.ErrLimit, "more than %d %s", t.max[d.counted], countedNames[d.counted])
	}
	return nil
}

// packed returns the number of elements in a packed field that was checked.
func packed(d *fieldDef, b []byte) (n int64) {
	if d.wire == protowire.Fixed32Type {
		return int64(len(b)) / 4
	}
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}
