// Package catalog holds the tensors of one open file: their descriptions, the
// lookup by name, the views, and the copies of those that cannot be viewed
// where they lie. Every format's File embeds a *Catalog and so shares these
// methods of format.Model.
//
// Memory is asked for a handful of times whatever the number of tensors: names
// lie in one string, dims in one slice, descriptions in one slice, and the lookup
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

	infos []tensor.Info
	names strings.Builder
	dims  []int64
	slots []uint64 // hash tag << 32 | index + 1; 0 is free
	lazy  []bool   // by index; shorter than infos when no lazy one follows

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
	c.infos = make([]tensor.Info, 0, n)
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
	if cap(c.dims)-n < rank {
		c.dims = slices.Grow(c.dims, rank)
	}
	c.dims = c.dims[:n+rank]
	return c.dims[n : n+rank : n+rank]
}

// Add appends a tensor. It reports false, and adds nothing, when the name is
// taken. A tensor that is not Lazy must lie within the region.
func (c *Catalog) Add(t *Tensor) bool {
	i := len(c.infos)
	// A search ends at a free slot, so one must stay free, whatever New was told.
	if 3*(i+1) > 2*len(c.slots) {
		c.grow()
	}
	h := maphash.Bytes(seed, t.Name)
	slot, taken := find(c, h, t.Name)
	if taken {
		return false
	}
	if i == cap(c.infos) {
		c.infos = slices.Grow(c.infos, 1)
	}
	// A tensor.Info is large, so it is filled in where it lies, in memory that is
	// zero already. Pointers are only stored where there are any: while the
	// garbage collector runs each store costs as much as all the rest.
	c.infos = c.infos[:i+1]
	info := &c.infos[i]
	start := c.names.Len()
	c.names.Write(t.Name)
	info.Name = c.names.String()[start:]
	info.DType, info.Offset, info.Size, info.Stored = t.DType, t.Offset, t.Size, t.Stored
	if t.Stored == 0 {
		info.Stored = t.Size
	}
	if len(t.Shape) > 0 {
		info.Shape = t.Shape
	} else {
		info.Shape = tensor.Shape{}
	}
	if t.Compression != "" {
		info.Compression = t.Compression
	}
	if t.Quant != nil {
		info.Quant = t.Quant
	}
	if t.Lazy {
		c.setLazy(i)
	}
	c.slots[slot] = h>>32<<32 | uint64(i+1)
	return true
}

// setLazy marks tensor i. Most files have no lazy tensors, or no others.
func (c *Catalog) setLazy(i int) {
	if cap(c.lazy) <= i {
		c.lazy = append(make([]bool, 0, cap(c.infos)), c.lazy...)
	}
	for len(c.lazy) < i {
		c.lazy = append(c.lazy, false)
	}
	c.lazy = append(c.lazy, true)
}

// isLazy tells whether the bytes of tensor i come from Fetch or Resolve.
func (c *Catalog) isLazy(i int) bool { return i < len(c.lazy) && c.lazy[i] }

// find returns the slot where the name is, or would go.
func find[N string | []byte](c *Catalog, h uint64, name N) (slot int, found bool) {
	mask := len(c.slots) - 1
	for slot = int(h) & mask; ; slot = (slot + 1) & mask {
		s := c.slots[slot]
		if s == 0 {
			return slot, false
		}
		if s>>32 == h>>32 && c.infos[uint32(s)-1].Name == string(name) {
			return slot, true
		}
	}
}

// grow doubles the table when more tensors come than New was told of.
func (c *Catalog) grow() {
	c.slots = make([]uint64, max(8, 2*len(c.slots)))
	mask := len(c.slots) - 1
	for i := range c.infos {
		h := maphash.String(seed, c.infos[i].Name)
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
func (c *Catalog) Info(i int) *tensor.Info { return &c.infos[i] }

// Region returns what the tensors lie in.
func (c *Catalog) Region() *mapped.Region { return c.region }

// Format returns the name of the format.
func (c *Catalog) Format() string { return c.format }

// Version returns the version of the format that the file has.
func (c *Catalog) Version() string { return c.version }

// Len returns the number of tensors that have data.
func (c *Catalog) Len() int { return len(c.infos) }

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
	if c.isLazy(i) {
		if c.Resolve != nil {
			return c.Resolve(i)
		}
		return tensor.NewView(&c.infos[i], c, nil)
	}
	return tensor.NewView(&c.infos[i], c, c.stored(i))
}

// stored returns the bytes of a tensor that is not lazy, nil when they are not
// in memory.
func (c *Catalog) stored(i int) []byte {
	if mem := c.region.Bytes(); mem != nil {
		info := &c.infos[i]
		end := info.Offset + info.Size
		return mem[info.Offset:end:end]
	}
	return nil
}

// Tensors walks the tensors in file order.
func (c *Catalog) Tensors() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for i := range c.infos {
			if !yield(c.infos[i].Name, c.At(i)) {
				return
			}
		}
	}
}
