package protobuf

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Counted is a kind of thing that a graph has many of. Two bytes of a message can
// make a value of some hundred in memory, so each kind is counted before
// anything is built, and has a limit of its own.
type Counted uint8

const (
	notCounted Counted = iota
	CountNodes
	CountValues     // inputs and outputs of graphs
	CountEdges      // inputs and outputs of nodes
	CountAttributes // and the tensors and graphs in their lists
	CountTensors    // initializers
	CountDims       // of tensors
	CountValueDims  // of values, which may be symbols
	CountStrings    // in attributes
	CountNumbers    // likewise
	CountProperties
	numCounted
)

// The limits are far above what models have: the largest graphs have some
// hundred thousand nodes.
const (
	maxNodes      = 1 << 20
	maxValues     = 1 << 20
	maxEdges      = 1 << 23
	maxAttributes = 1 << 21
	MaxDims       = 1 << 25
	maxValueDims  = 1 << 22
	maxStrings    = 1 << 23
	maxNumbers    = 1 << 26
	maxProperties = 1 << 20
)

var countedNames = [numCounted]string{
	CountNodes: "nodes", CountValues: "values", CountEdges: "inputs and outputs of nodes", CountAttributes: "attributes",
	CountTensors: "tensors", CountDims: "dims", CountValueDims: "dims of values", CountStrings: "strings", CountNumbers: "numbers", CountProperties: "properties",
}

// Tally counts what a graph has.
type Tally struct {
	n, Max [numCounted]int64
	Cost   int64 // about how many bytes of memory the graph takes
	Room   int64 // how many it may take; 0 does not count them
}

// NewTally makes the tally of a graph in a file of at most so many tensors, with
// eight dims for each if that is more than the limit of dims.
func NewTally(maxTensors int) *Tally {
	return &Tally{Max: [numCounted]int64{
		CountNodes: maxNodes, CountValues: maxValues, CountEdges: maxEdges, CountAttributes: maxAttributes,
		CountTensors: max(int64(maxTensors), driver.MaxTensors), CountDims: DimLimit(maxTensors), CountValueDims: maxValueDims,
		CountStrings: maxStrings, CountNumbers: maxNumbers, CountProperties: maxProperties,
	}}
}

// DimsOf returns how many dims the tensors of a section may have that takes so many
// bytes in the file: one a byte, or a million where it is compressed.
func DimsOf(stored int64) int { return int(min(MaxDims, 1<<20+stored)) }

// DimLimit returns how many dims all tensors may have.
func DimLimit(maxTensors int) int64 { return max(MaxDims, 8*int64(maxTensors)) }

// add counts the elements of a field, and the memory that they take.
func (t *Tally) add(d *FieldDef, f *Field) error {
	if d.counted != notCounted {
		if t.n[d.counted] += f.N; t.n[d.counted] > t.Max[d.counted] {
			return Defectf(f.At, tensor.ErrLimit, "more than %d %s", t.Max[d.counted], countedNames[d.counted])
		}
	}
	if each := d.takes; each > 0 && t.Room > 0 {
		t.Cost += f.N * each
		if d.wire == protowire.BytesType && d.Message == nil {
			t.Cost += f.End - f.Start + 8
		}
		if t.Cost > t.Room {
			return Defectf(f.At, tensor.ErrLimit, "more than %d bytes of memory for the graph (Options.MaxMemory)", t.Room)
		}
	}
	return nil
}
