package protobuf

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Counted is a kind of element that a graph may have many of, with a limit.
type Counted uint8

const (
	notCounted Counted = iota
	CountNodes
	CountValues     // inputs and outputs of graphs
	CountEdges      // inputs and outputs of nodes
	CountAttributes // including tensors and graphs in lists
	CountTensors    // initializers
	CountDims       // of tensors
	CountValueDims  // of values; may be symbols
	CountStrings    // in attributes
	CountNumbers    // in attributes
	CountProperties
	numCounted
)

// MaxDims limits the dims of all tensors of a graph or a block.
const MaxDims = 1 << 25

// limits are far above real models: the largest graphs have a few hundred thousand nodes.
var limits = [numCounted]struct {
	name string
	most int64
}{
	CountNodes:      {"nodes", 1 << 20},
	CountValues:     {"values", 1 << 20},
	CountEdges:      {"edges", 1 << 23},
	CountAttributes: {"attributes", 1 << 21},
	CountTensors:    {"tensors", driver.MaxTensors},
	CountDims:       {"dims", MaxDims},
	CountValueDims:  {"value_dims", 1 << 22},
	CountStrings:    {"strings", 1 << 23},
	CountNumbers:    {"numbers", 1 << 26},
	CountProperties: {"properties", 1 << 20},
}

// countedAs returns the limit with a name, or notCounted.
func countedAs(name string) Counted {
	for i := range limits {
		if limits[i].name == name {
			return Counted(i)
		}
	}
	return notCounted
}

// Tally counts the elements of a graph and the memory allocated for them.
type Tally struct {
	n, Max [numCounted]int64
	Cost   int64 // bytes of memory so far
	Room   int64 // limit on Cost
}

// NewTally returns a Tally with a limit of room bytes of memory.
func NewTally(room int64) *Tally {
	t := &Tally{Room: room}
	for i := range limits {
		t.Max[i] = limits[i].most
	}
	return t
}

// DimsOf returns the limit on the dims of the tensors in a section of stored bytes: one per byte,
// plus a million in case the section is compressed.
func DimsOf(stored int64) int { return int(min(MaxDims, 1<<20+stored)) }

// add counts the elements of a field.
func (t *Tally) add(c Counted, f *Field) error {
	if t.n[c] += f.N; t.n[c] > t.Max[c] {
		return Defectf(f.At, tensor.ErrLimit, "more than %d %s", t.Max[c], limits[c].name)
	}
	return nil
}

// Charge counts n bytes before they are allocated for the field at offset at.
func (t *Tally) Charge(at, n int64) error {
	if t == nil {
		return nil
	}
	if t.Cost += n; t.Cost > t.Room {
		return Defectf(at, tensor.ErrLimit, "more than %d bytes of memory for the graph (Options.MaxMemory)", t.Room)
	}
	return nil
}
