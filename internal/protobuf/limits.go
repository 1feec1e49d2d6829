package protobuf

import (
	"github.com/weightmap/weightmap/format"
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
	t := &Tally{}
	t.Reset(maxTensors)
	return t
}

// Reset makes the tally what NewTally returns.
func (t *Tally) Reset(maxTensors int) {
	*t = Tally{Max: [numCounted]int64{
		CountNodes: maxNodes, CountValues: maxValues, CountEdges: maxEdges, CountAttributes: maxAttributes,
		CountTensors: max(int64(maxTensors), format.DefaultMaxTensors), CountDims: DimLimit(maxTensors), CountValueDims: maxValueDims,
		CountStrings: maxStrings, CountNumbers: maxNumbers, CountProperties: maxProperties,
	}}
}

// DimsOf returns how many dims the tensors of a section may have that takes so many
// bytes in the file: one a byte, or a million where it is compressed.
func DimsOf(stored int64) int { return int(min(MaxDims, 1<<20+stored)) }

// DimLimit returns how many dims all tensors may have.
func DimLimit(maxTensors int) int64 { return max(MaxDims, 8*int64(maxTensors)) }

// add counts n elements of a field, and the memory that they take.
func (t *Tally) add(d *FieldDef, f *Field, n int64) error {
	if d.counted != notCounted {
		if t.n[d.counted] += n; t.n[d.counted] > t.Max[d.counted] {
			return Defectf(f.At, tensor.ErrLimit, "more than %d %s", t.Max[d.counted], countedNames[d.counted])
		}
	}
	if each := d.takes[AsNeutral]; each > 0 && t.Room > 0 {
		t.Cost += n * each
		if d.wire == protowire.BytesType && d.Message == nil {
			t.Cost += f.End - f.Start + 8
		}
		if t.Cost > t.Room {
			return Defectf(f.At, tensor.ErrLimit, "more than %d bytes of memory for the graph (Options.MaxMemory)", t.Room)
		}
	}
	return nil
}

// elements returns the number of elements in a field that was checked, packed or not.
func (s *Source) elements(d *FieldDef, f *Field) (n int64, err error) {
	if f.Typ != protowire.BytesType || d.wire == protowire.BytesType {
		return 1, nil
	}
	switch d.wire {
	case protowire.Fixed32Type:
		return (f.End - f.Start) / 4, nil
	case protowire.Fixed64Type:
		return (f.End - f.Start) / 8, nil
	}
	b, err := s.Bytes(f.Start, f.End)
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n, err
}

// Form is what is made of a message.
type Form uint8

// The forms: the neutral graph, and the Go structs of all messages.
const (
	AsNeutral Form = iota
	AsMessage
)

// Cost returns about how many bytes of memory a message takes in a form. Its wire rules
// were checked.
func (s *Source) Cost(def *Message, msg Field, form Form) (total int64, err error) {
	err = s.Each(def, msg, func(f Field) error {
		d := def.Known(f.Num)
		if d == nil {
			if form == AsMessage {
				total += 2 * (f.End - f.At) // unknown fields are kept
			}
			return nil
		}
		if d.takes[form] == 0 {
			return nil
		}
		n, err := s.elements(d, &f)
		total += n * d.takes[form]
		switch {
		case err != nil:
		case d.Message != nil:
			var inner int64
			inner, err = s.Cost(d.Message, f, form)
			total += inner
		case d.wire == protowire.BytesType:
			total += f.End - f.Start + 8
		}
		return err
	})
	return total, err
}
