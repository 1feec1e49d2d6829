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

// Tally counts what a graph has.
type Tally struct {
	n, Max [numCounted]int64
	Cost   int64 // about how many bytes of memory the graph takes
	Room   int64 // how many it may take; 0 does not count them
}

// NewTally makes the tally of a graph whose objects may take so many bytes of memory.
func NewTally(room int64) *Tally {
	t := &Tally{Room: room}
	for i := range limits {
		t.Max[i] = limits[i].most
	}
	return t
}

// DimsOf returns how many dims the tensors of a section may have that takes so many
// bytes in the file: one a byte, or a million where it is compressed.
func DimsOf(stored int64) int { return int(min(MaxDims, 1<<20+stored)) }

// add counts the elements of a field, and the memory that they take.
func (t *Tally) add(d *FieldDef, f *Field) error {
	if d.counted != notCounted {
		if t.n[d.counted] += f.N; t.n[d.counted] > t.Max[d.counted] {
			return Defectf(f.At, tensor.ErrLimit, "more than %d %s", t.Max[d.counted], limits[d.counted].name)
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
