package protobuf

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Counted is a kind of thing that a graph has many of, which has a limit.
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

// MaxDims is how many dims the tensors of a graph, or of a block, may have.
const MaxDims = 1 << 25

// limits are far above what models have: the largest graphs have some hundred thousand nodes.
var limits = [numCounted]struct {
	name string
	most int64
}{
	CountNodes:      {"nodes", 1 << 20},
	CountValues:     {"values", 1 << 20},
	CountEdges:      {"inputs and outputs of nodes", 1 << 23},
	CountAttributes: {"attributes", 1 << 21},
	CountTensors:    {"tensors", driver.MaxTensors},
	CountDims:       {"dims", MaxDims},
	CountValueDims:  {"dims of values", 1 << 22},
	CountStrings:    {"strings", 1 << 23},
	CountNumbers:    {"numbers", 1 << 26},
	CountProperties: {"properties", 1 << 20},
}

// Tally counts what a graph has, and the memory that is allocated for it.
type Tally struct {
	n, Max [numCounted]int64
	Cost   int64 // bytes of memory so far
	Room   int64 // how many there may be
}

// NewTally returns the tally of a graph that may take room bytes of memory.
func NewTally(room int64) *Tally {
	t := &Tally{Room: room}
	for i := range limits {
		t.Max[i] = limits[i].most
	}
	return t
}

// DimsOf returns how many dims the tensors of a section of stored bytes may have: one a byte,
// and a million for one that is compressed.
func DimsOf(stored int64) int { return int(min(MaxDims, 1<<20+stored)) }

// add counts the elements of a field.
func (t *Tally) add(c Counted, f *Field) error {
	if t.n[c] += f.N; t.n[c] > t.Max[c] {
		return Defectf(f.At, tensor.ErrLimit, "more than %d %s", t.Max[c], limits[c].name)
	}
	return nil
}

// Charge counts n bytes that are about to be allocated for what is at an offset.
func (t *Tally) Charge(at, n int64) error {
	if t.Cost += n; t.Cost > t.Room {
		return Defectf(at, tensor.ErrLimit, "more than %d bytes of memory for the graph (Options.MaxMemory)", t.Room)
	}
	return nil
}
