// Package catalog holds the tensors of one open file: their descriptions, the
// lookup by name, the views, and the copies of those that cannot be viewed
// where they lie. Every format's File embeds a *Catalog and so shares these
// methods of format.Model.
//
// Memory is asked for a handful of times whatever the number of tensors: names
// lie in one string, dims in one slice, records in one slice without pointers, which the garbage
// collector passes over, and the lookup is one table with open addressing. The
// tensor.Info that a view points to is made when it is first asked for. The
// table hashes with a seed of its own process, so that a file cannot be made
// whose names all collide.
package catalog

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Catalog is a list of tensors in file order over a region. Fill it with Add
// while opening; after that it is safe for concurrent use.
type Catalog struct {
	region  *mapped.Region
	format  string
	version string

	records []record
	extras  []extra // by index; shorter than records when no tensor with one follows
	names   strings.Builder
	dims    []int64
	slots   []uint64 // hash tag << 32 | index + 1; 0 is free
	infos   infoTable
	gate    *gate // nil when nothing holds data back

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

// record is what most tensors have.
type record struct {
	offset, size int64
	nameEnd      int // in names, where the next name begins
	dimsAt, rank int // in dims
	dtype        tensor.DType
	lazy         bool
}

// extra is what few tensors have.
type extra struct {
	stored      int64
	compression string
	quant       *tensor.Quantization
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
	c.records = make([]record, 0, n)
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
	Shape       tensor.Shape // usually from Dims; others are copied
	Offset      int64        // in the file, -1 when the data do not lie there as such
	Size        int64
	Stored      int64 // as in tensor.Info; counts only with a Compression, else it is Size
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
	i := len(c.records)
	// A search ends at a free slot, so one must stay free, whatever New was told.
	if 3*(i+1) > 2*len(c.slots) {
		c.grow()
	}
	h := maphash.Bytes(seed, t.Name)
	slot, taken := find(c, h, t.Name)
	if taken {
		return false
	}
	c.names.Write(t.Name)
	c.records = append(c.records, record{
		offset: t.Offset, size: t.Size, nameEnd: c.names.Len(),
		dimsAt: c.place(t.Shape), rank: len(t.Shape), dtype: t.DType, lazy: t.Lazy,
	})
	if t.Compression != "" || t.Quant != nil {
		e := c.extra(i)
		e.compression, e.quant = t.Compression, t.Quant
		if t.Compression != "" {
			e.stored = t.Stored
		}
	}
	c.slots[slot] = h>>32<<32 | uint64(i+1)
	return true
}

// place returns where in dims a shape lies, which is its end if it is from Dims.
func (c *Catalog) place(s tensor.Shape) int {
	at := len(c.dims) - len(s)
	if len(s) == 0 || at >= 0 && &s[0] == &c.dims[at] {
		return at
	}
	c.dims = append(c.dims, s...)
	return len(c.dims) - len(s)
}

// extra returns room for what the record of tensor i has no room for. Most files
// have no such tensors, or no others.
func (c *Catalog) extra(i int) *extra {
	if cap(c.extras) <= i {
		c.extras = append(make([]extra, 0, max(cap(c.records), i+1)), c.extras...)
	}
	for len(c.extras) <= i {
		c.extras = append(c.extras, extra{stored: c.records[len(c.extras)].size})
	}
	return &c.extras[i]
}

// SetQuant gives tensor i its quantisation parameters, for formats that learn of
// them after the tensor itself. It belongs before the first Info.
func (c *Catalog) SetQuant(i int, q *tensor.Quantization) { c.extra(i).quant = q }

// Quant returns the quantisation parameters of tensor i, nil for none.
func (c *Catalog) Quant(i int) *tensor.Quantization {
	if i < len(c.extras) {
		return c.extras[i].quant
	}
	return nil
}

// Name returns the name of tensor i.
func (c *Catalog) Name(i int) string {
	start := 0
	if i > 0 {
		start = c.records[i-1].nameEnd
	}
	return c.names.String()[start:c.records[i].nameEnd]
}

// DType returns the dtype of tensor i.
func (c *Catalog) DType(i int) tensor.DType { return c.records[i].dtype }

// Shape returns the dims of tensor i, which must not be changed.
func (c *Catalog) Shape(i int) tensor.Shape {
	r := &c.records[i]
	return c.dims[r.dimsAt : r.dimsAt+r.rank : r.dimsAt+r.rank]
}

// find returns the slot where the name is, or would go.
func find[N string | []byte](c *Catalog, h uint64, name N) (slot int, found bool) {
	mask := len(c.slots) - 1
	for slot = int(h) & mask; ; slot = (slot + 1) & mask {
		s := c.slots[slot]
		if s == 0 {
			return slot, false
		}
		if s>>32 == h>>32 && c.Name(int(uint32(s)-1)) == string(name) {
			return slot, true
		}
	}
}

// grow doubles the table when more tensors come than New was told of.
func (c *Catalog) grow() {
	c.slots = make([]uint64, max(8, 2*len(c.slots)))
	mask := len(c.slots) - 1
	for i := range c.records {
		h := maphash.String(seed, c.Name(i))
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

// Select returns the positions of the tensors of those names, of all when there
// are no names, ascending and each once. A name that is no tensor's is ErrCorrupt.
func (c *Catalog) Select(names []string) ([]int, error) {
	which := make([]int, 0, c.Len())
	for _, name := range names {
		i, ok := c.Index(name)
		if !ok {
			return nil, wire.Errorf(c.format, "tensors", -1, tensor.ErrCorrupt, "no tensor is named %q", name)
		}
		which = append(which, i)
	}
	for i := 0; len(names) == 0 && i < c.Len(); i++ {
		which = append(which, i)
	}
	slices.Sort(which)
	return slices.Compact(which), nil
}

// Region returns what the tensors lie in.
func (c *Catalog) Region() *mapped.Region { return c.region }

// Format returns the name of the format.
func (c *Catalog) Format() string { return c.format }

// Version returns the version of the format that the file has.
func (c *Catalog) Version() string { return c.version }

// Len returns the number of tensors that have data.
func (c *Catalog) Len() int { return len(c.records) }

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
	if c.records[i].lazy {
		if c.Resolve != nil {
			return c.Resolve(i)
		}
		return tensor.NewView(c.Info(i), c, nil)
	}
	return tensor.NewView(c.Info(i), c, c.stored(i))
}

// stored returns the bytes of a tensor that is not lazy, nil when they are not
// in memory.
func (c *Catalog) stored(i int) []byte {
	if mem := c.region.Bytes(); mem != nil {
		r := &c.records[i]
		return mem[r.offset : r.offset+r.size : r.offset+r.size]
	}
	return nil
}

// Tensors walks the tensors in file order.
func (c *Catalog) Tensors() iter.Seq2[string, tensor.View] {
	return func(yield func(string, tensor.View) bool) {
		for i := range c.records {
			v := c.At(i)
			if !yield(c.Info(i).Name, v) {
				return
			}
		}
	}
}
