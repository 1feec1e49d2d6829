package messages

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Limit is a kind of element that a graph may have many of, with a limit.
type Limit uint8

// The limits. They are far above real models: the largest graphs have a few hundred thousand nodes.
const (
	_          Limit = iota
	Dims             // of all tensors of a graph or a block
	ValueDims        // of values
	Nodes            //
	Values           // inputs and outputs of graphs
	Edges            // inputs and outputs of nodes
	Attributes       // including tensors and graphs in lists
	Tensors          // initializers
	Strings          // in attributes
	Numbers          // in attributes
	Properties       //
	numLimits
)

// MaxDims limits the dims of all tensors of a graph or a block.
const MaxDims = 1 << 25

var limits = [numLimits]struct {
	name string
	most int64
}{
	Dims:       {"dims", MaxDims},
	ValueDims:  {"value_dims", 1 << 22},
	Nodes:      {"nodes", 1 << 20},
	Values:     {"values", 1 << 20},
	Edges:      {"edges", 1 << 23},
	Attributes: {"attributes", 1 << 21},
	Tensors:    {"tensors", driver.MaxTensors},
	Strings:    {"strings", 1 << 23},
	Numbers:    {"numbers", 1 << 26},
	Properties: {"properties", 1 << 20},
}

// Counts counts the elements of messages, before any of them is built.
type Counts struct {
	Around  int    // levels of messages around the one that is checked
	Checked uint64 // bits of the fields of that message that have been checked, and counted
	HasDocs bool   // a message has a part of a schema.Doc
	Max     [numLimits]int64
	n       [numLimits]int64
}

// NewCounts returns Counts with the limits of all formats.
func NewCounts() *Counts {
	c := &Counts{}
	for i := range limits {
		c.Max[i] = limits[i].most
	}
	return c
}

// Add counts n elements in the field at an offset.
func (c *Counts) Add(l Limit, n, at int64) *Error {
	c.n[l] += n
	if c.n[l] > c.Max[l] {
		return Errorf(at, "", tensor.ErrLimit, "more than %d %s", c.Max[l], limits[l].name)
	}
	return nil
}

// Room is the memory for what is built from messages.
type Room struct {
	Cost int64 // bytes so far
	Most int64
}

// Charge counts n bytes before they are allocated for the field at an offset.
func (r *Room) Charge(at, n int64) *Error {
	r.Cost += n
	if r.Cost > r.Most {
		return Errorf(at, "", tensor.ErrLimit,
			"more than %d bytes of memory for the graph (Options.MaxMemory)", r.Most)
	}
	return nil
}
