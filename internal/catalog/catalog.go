// Package catalog holds the tensors of one open file: their descriptions, the
// lookup by name, the views, and the copies of those that cannot be viewed
// where they lie. Every format's File embeds a *Catalog and so shares these
// methods of format.Model.
//
// Memory is asked for a handful of times whatever the number of tensors: names
// lie in one string, dims in one slice, entries in one slice, and the lookup
// is one table with open addressing. The table hashes with a seed of its own
// process, so that a file cannot be made whose names all collide.
package catalog

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/tensor"
)

// Catalog is a list of tensors in file order over a region. Fill it with Add
// while opening; after that it is safe for concurrent use.
type Catalog struct {
	region  *mapped.Region
	format  string
	version string

	entries []entry
	names   strings.Builder
	dims    []int64
	slots   []uint64 // hash tag << 32 | index + 1; 0 is free

	// Fetch returns the bytes of a tensor that was added with Lazy, in heap
	// memory that nobody else changes. It is called at most once at a time for
	// each tensor and its result is kept until Close.
	Fetch func(i int) ([]byte, error)
	// Resolve, when set, makes the views of Lazy tensors instead of Fetch: for
	// data in other files.
	Resolve func(i int) tensor.View

	once  sync.Once
	cells []cell // kept copies, by index; made when the first is needed
}

type entry struct {
	info tensor.Info
	lazy bool
}

// cell keeps the copy of one tensor.
type cell struct {
	mu   sync.Mutex
	data []byte
}

var seed = maphash.MakeSeed()

// New starts an empty catalog over region with room for n tensors, nameBytes
// bytes of names and dims dims. The caller has checked that the file justifies
// these; more may be added, at the price of further allocations.
func New(region *mapped.Region, format, version string, n, nameBytes, dims int) *Catalog {
	c := &Catalog{region: region, format: format, version: version}
	c.entries = make([]entry, 0, n)
	c.dims = make([]int64, 0, dims)
	c.names.Grow(nameBytes)
	c.slots = make([]uint64, tableSize(n))
	return c
}

// tableSize returns a power of two that n entries fill at most two thirds.
func tableSize(n int) int { return 1 << bits.Len(uint(n+n/2)) }

// Tensor is what Add takes: a tensor.Info whose name may alias the file.
type Tensor struct {
	Name        []byte
	DType       tensor.DType
	Shape       tensor.Shape // from Dims
	Offset      int64        // in the file, -1 when the data do not lie there as such
	Size        int64
	Stored      int64 // as in tensor.Info; 0 means Size
	Compression string
	Quant       *tensor.Quantization
	Lazy        bool // the bytes come from Fetch or Resolve, not from Offset
}

// Dims returns room for the dims of a tensor, to be filled in before Add.
func (c *Catalog) Dims(rank int) tensor.Shape {
	n := len(c.dims)
	c.dims = slices.Grow(c.dims, rank)[:n+rank]
	return c.dims[n : n+rank : n+rank]
}

// Add appends a tensor. It reports false, and adds nothing, when the name is
// taken. A tensor that is not Lazy must lie within the region.
func (c *Catalog) Add(t *Tensor) bool {
	if 3*len(c.entries) >= 2*len(c.slots) {
		c.grow()
	}
	h := maphash.Bytes(seed, t.Name)
	slot, taken := find(c, h, t.Name)
	if taken {
		return false
	}
	start := c.names.Len()
	c.names.Write(t.Name)
	// A tensor.Info is large: it is filled in where it lies.
	c.entries = append(c.entries, entry{})
	e := &c.entries[len(c.entries)-1]
	e.lazy = t.Lazy
	e.info.Name = c.names.String()[start:]
	e.info.DType, e.info.Shape = t.DType, t.Shape
	e.info.Offset, e.info.Size, e.info.Stored = t.Offset, t.Size, t.Stored
	e.info.Compression, e.info.Quant = t.Compression, t.Quant
	if t.Stored == 0 {
		e.info.Stored = t.Size
	}
	c.slots[slot] = h>>32<<32 | uint64(len(c.entries))
	return true
}

// find returns the slot where the name is, or would go.
func find[N string | []byte](c *Catalog, h uint64, name N) (slot int, found bool) {
	mask := len(c.slots) - 1
	for slot = int(h) & mask; ; slot = (slot + 1) & mask {
		s := c.slots[slot]
		if s == 0 {
			return slot, false
		}
		if s>>32 == h>>32 && c.entries[uint32(s)-1].info.Name == string(name) {
			return slot, true
		}
	}
}

// grow doubles the table when more tensors come than New was told of.
func (c *Catalog) grow() {
	c.slots = make([]uint64, max(8, 2*len(c.slots)))
	mask := len(c.slots) - 1
	for i := range c.entries {
		h := maphash.String(seed, c.entries[i].info.Name)
		slot := int(h) & mask
		for c.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		c.slots[slot] = h>>32<<32 | uint64(i+1)
	}
}

// Index returns the position of the tensor of that name.
func (c *Catalog) Index(name string) (i int, ok bool) {
	slot, ok := find(c, maphash.String(seed, name), name)
	if !ok {
		return 0, false
	}
	return int(uint32(c.slots[slot])) - 1, true
}

// IndexBytes is Index for a name that lies in a file.
func (c *Catalog) IndexBytes(name []byte) (i int, ok bool) {
	slot, ok := find(c, maphash.Bytes(seed, name), name)
	if !ok {
		return 0, false
	}
	return int(uint32(c.slots[slot])) - 1, true
}

// Info returns the description of tensor i, which must not be changed once
// the model is open.
func (c *Catalog) Info(i int) *tensor.Info { return &c.entries[i].info }

// Region returns what the tensors lie in.
func (c *Catalog) Region() *mapped.Region { return c.region }

// Format returns the name of the format.
func (c *Catalog) Format() string { return c.format }

// Version returns the version of the format that the file has.
func (c *Catalog) Version() string { return c.version }

// Len returns the number of tensors that have data.
func (c *Catalog) Len() int { return len(c.entries) }

// Tensor returns the tensor of that name. It takes some tens of nanoseconds
// and no memory.
func (c *Catalog) Tensor(name string) (tensor.View, bool) {
	i, ok := c.Index(name)
	if !ok {
		return tensor.View{}, false
	}
	return c.At(i), true
}

// At returns tensor i in file order.
func (c *Catalog) At(i int) tensor.View {
	e := &c.entries[i]
	if e.lazy && c.Resolve != nil {
		return c.Resolve(i)
	}
	return tensor.NewView(&e.info, c, c.stored(e))
}

// stored returns the bytes of a tensor that lies in memory as such, else nil.
func (c *Catalog) stored(e *entry) []byte {
	if mem := c.region.Bytes(); mem != nil && !e.lazy {
		end := e.info.Offset + e.info.Size
		return mem[e.info.Offset:end:end]
	}
	return nil
}

// Tensors walks the tensors in file order.
func (c *Catalog) Tensors() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for i := range c.entries {
			if !yield(c.entries[i].info.Name, c.At(i)) {
				return
			}
		}
	}
}
