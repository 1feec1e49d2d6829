package protobuf

import (
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Counted is a kind of element that a graph may have many of, with a limit.
type Counted uint8

// MaxDims limits the dims of all tensors of a graph or a block.
const MaxDims = 1 << 25

type limit struct {
	name string
	most int64
}

// limits are far above real models: the largest graphs have a few hundred thousand nodes. The first
// counts nothing.
var limits = [...]limit{
	{"", 0},
	{"dims", MaxDims},
	{"value_dims", 1 << 22},
	{"nodes", 1 << 20},
	{"values", 1 << 20},            // inputs and outputs of graphs
	{"edges", 1 << 23},             // inputs and outputs of nodes
	{"attributes", 1 << 21},        // including tensors and graphs in lists
	{"tensors", driver.MaxTensors}, // initializers
	{"strings", 1 << 23},           // in attributes
	{"numbers", 1 << 26},           // in attributes
	{"properties", 1 << 20},
}

// CountedAs returns the kind with a name, or 0.
func CountedAs(name string) Counted {
	i := slices.IndexFunc(limits[:], func(l limit) bool { return l.name == name })
	return Counted(max(i, 0))
}

// Tally counts the elements of a graph and the memory allocated for them.
type Tally struct {
	n, Max [len(limits)]int64
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
