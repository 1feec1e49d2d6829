package driver

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Index is the list of tensors of an open model, in file order. A parser fills it
// with Add. After Parse it does not change and is safe for concurrent use.
//
// An Index makes few allocations for any number of tensors: names are in one buffer,
// dims in one slice, and records in one slice without pointers, which the garbage
// collector does not scan. Names are looked up in a hash table with open addressing.
// If the number of tensors is not known in advance, they are collected in pooled
// scratch memory, and Seal copies them. The hash seed is random, so that a file cannot
// provoke collisions.
type Index struct {
	// Version is the file's version of the format, such as "1". The parser sets it.
	Version string

	lists
	shape   [8]int64 // memory of Dims for usual ranks
	scratch *lists   // pooled memory of the lists while their length is unknown
	account *Memory
	counted int   // bytes reserved in account
	err     error // from account; Add then fails
}

// lists are the contents of an Index.
type lists struct {
	records []record
	extras  []extra // by index; may be shorter than records
	names   []byte
	dims    []int64
	slots   []uint64 // hash table: hash << 32 | index + 1, or 0 if free
	spare   []uint64 // the table before it grew
}

// record describes a tensor. Its name and dims begin where those of the record before end.
type record struct {
	offset, size int64
	nameEnd      uint32
	dimsEnd      uint32
	space        Space
	dtype        tensor.DType
	loaded       bool
}

// extra holds the fields that few tensors need.
type extra struct {
	stored      int64
	compression string
	quant       *tensor.Quantization
	encoding    *tensor.Encoding
}

var seed = maphash.MakeSeed()

// CheckName is tensor.CheckName for bytes. It does not allocate if the name is legal.
func CheckName(name []byte) error { return tensor.CheckName(memory.String(name)) }

// Count makes the index reserve its memory in m. If that fails, the index accepts no more
// tensors, and Err returns the error.
func (x *Index) Count(m *Memory) { x.account = m }

// Uncount releases the reserved memory of an index that is discarded.
func (x *Index) Uncount() {
	x.account.Release(int64(x.counted))
	x.counted = 0
}

// Err returns the error that made the index stop accepting tensors, or nil.
func (x *Index) Err() error { return x.err }

// The memory of a tensor in bytes: its record, its share of the table, and what the
// engine allocates on its first use. Few have an extra.
const (
	tensorBytes = 32 + 24 + 176
	extraBytes  = 40
)

// reserve reserves n more bytes.
func (x *Index) reserve(n int) bool {
	if x.err == nil {
		x.err = x.account.Reserve(int64(n))
	}
	if x.err == nil {
		x.counted += n
	}
	return x.err == nil
}

// Grow makes room for n more tensors with nameBytes bytes of names and dims dims in
// total. The caller must have checked these numbers against the size of the file. More
// tensors may be added, with further allocations.
func (x *Index) Grow(n, nameBytes, dims int) {
	if !x.reserve(n*tensorBytes + nameBytes + 8*dims) {
		return
	}
	x.Seal()
	x.records = slices.Grow(x.records, n)
	x.dims = slices.Grow(x.dims, dims)
	x.names = slices.Grow(x.names, nameBytes)
	n += len(x.records)
	// A power of two of which n entries fill at most two thirds.
	if size := 1 << bits.Len(uint(n+n/2)); size > len(x.slots) {
		x.rehash(size)
	}
}

// Dims returns a Shape of the given rank for the parser to fill in and pass to Add. It is
// valid until the next call of Dims.
func (x *Index) Dims(rank int) tensor.Shape {
	return slices.Grow(x.shape[:0], rank)[:rank]
}

// MaxTensors is the maximum number of tensors in a model.
const MaxTensors = 1 << 22

// Add appends a tensor. It returns ErrCorrupt if the name exists, and ErrLimit for too many
// tensors or if their memory exceeds Options.MaxMemory. After ErrLimit the index accepts
// no more tensors, and opening fails even if Parse returns no error.
func (x *Index) Add(t *Tensor) error {
	i := len(x.records)
	nameEnd := len(x.names) + len(t.Name)
	dimsEnd := len(x.dims) + len(t.Shape)
	if i == MaxTensors {
		x.err = cmp.Or(x.err, fmt.Errorf("%w: more than %d tensors", tensor.ErrLimit, MaxTensors))
	}
	need := (i+1)*tensorBytes + nameEnd + 8*dimsEnd
	if x.err != nil || need > x.counted && !x.reserve(need-x.counted+x.counted/2) {
		return x.err
	}
	if i == cap(x.records) {
		x.borrow()
		x.records = slices.Grow(x.records, 1)
	}
	// A search ends at a free slot, so there must always be one.
	if 3*(i+1) > 2*len(x.slots) {
		x.rehash(max(64, 2*len(x.slots)))
	}
	hash := hashOf(memory.String(t.Name))
	slot, taken := x.find(hash, memory.String(t.Name))
	if taken {
		return fmt.Errorf("%w: the name occurs twice", tensor.ErrCorrupt)
	}
	if uint64(nameEnd) > math.MaxUint32 || uint64(dimsEnd) > math.MaxUint32 {
		x.err = fmt.Errorf("%w: names of more than 4 GiB, or as many dims", tensor.ErrLimit)
		return x.err
	}
	x.names = append(x.names, t.Name...)
	x.dims = append(x.dims, t.Shape...)
	// Assigning fields is faster than a composite literal, which is built elsewhere and copied.
	x.records = x.records[:i+1]
	r := &x.records[i]
	r.offset = t.Offset
	r.size = t.Size
	r.nameEnd = uint32(nameEnd)
	r.dimsEnd = uint32(dimsEnd)
	r.space = t.Space
	r.dtype = t.DType
	r.loaded = t.Loaded
	if t.Compression != "" || t.Quant != nil || t.Encoding != nil {
		e := x.extra(i)
		e.compression = t.Compression
		e.stored = t.Stored
		e.quant = t.Quant
		e.encoding = t.Encoding
	}
	x.slots[slot] = hash<<32 | uint64(i+1)
	return nil
}

// Covers checks that the data of the tensors from index first on fills the range from from to to of
// their file, in any order, without gaps or overlaps. Where the size of the file is not known they
// may end before to.
func (x *Index) Covers(first int, from, to int64) error {
	list := slices.Clone(x.records[first:])
	slices.SortFunc(list, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size))
	})
	next := from
	for _, r := range list {
		if r.offset != next {
			what := "it overlaps another tensor"
			if r.offset > next {
				what = fmt.Sprintf("%d bytes before it are in no tensor", r.offset-next)
			}
			return &tensor.Error{Field: fmt.Sprintf("tensor %q", x.Name(slices.Index(x.records, r))), Offset: r.offset, Err: fmt.Errorf("%w: %s", tensor.ErrCorrupt, what)}
		}
		next += r.size
	}
	if next != to && to < UnknownSize {
		return &tensor.Error{Field: "data", Offset: next, Err: fmt.Errorf("%w: no tensor has the last %d bytes", tensor.ErrCorrupt, to-next)}
	}
	return nil
}

// ends returns where the name and the dims before those of tensor i end, and its own begin.
func (x *Index) ends(i int) (name, dims int) {
	if i == 0 {
		return 0, 0
	}
	r := &x.records[i-1]
	return int(r.nameEnd), int(r.dimsEnd)
}

// extra returns the extra of tensor i, allocating it if necessary. In most files either
// all tensors have one or none has.
func (x *Index) extra(i int) *extra {
	if n := i + 1 - len(x.extras); n > 0 {
		x.reserve(extraBytes * n)
		x.extras = slices.Grow(x.extras, cap(x.records)-len(x.extras)) // as many as there will be tensors
		x.extras = append(x.extras, make([]extra, n)...)
	}
	return &x.extras[i]
}

// more returns the extra of tensor i, or the zero extra.
func (x *Index) more(i int) (e extra) {
	if i < len(x.extras) {
		e = x.extras[i]
	}
	return e
}

// SetQuant sets the quantization parameters of tensor i, for formats that store them
// after the tensor's description.
func (x *Index) SetQuant(i int, q *tensor.Quantization) { x.extra(i).quant = q }

// Encoding returns the encoding of tensor i, or nil if its elements have a DType.
func (x *Index) Encoding(i int) *tensor.Encoding { return x.more(i).encoding }

// Len returns the number of tensors.
func (x *Index) Len() int { return len(x.records) }

// Name returns the name of tensor i.
//
//go:noinline
func (x *Index) Name(i int) string { // inlined, it would add 2 kB to each program
	name := x.nameBytes(i)
	if x.scratch != nil {
		return string(name)
	}
	return memory.String(name)
}

// nameBytes returns the name of tensor i in the memory of the index.
func (x *Index) nameBytes(i int) []byte {
	at, _ := x.ends(i)
	return x.names[at:x.records[i].nameEnd]
}

// Names returns the names of all tensors, which share memory.
func (x *Index) Names() []string {
	all := string(x.names)
	list := make([]string, x.Len())
	for i := range list {
		at, _ := x.ends(i)
		list[i] = all[at:x.records[i].nameEnd]
	}
	return list
}

// DType returns the dtype of tensor i.
func (x *Index) DType(i int) tensor.DType { return x.records[i].dtype }

// Shape returns the dims of tensor i, which the caller must not modify.
func (x *Index) Shape(i int) tensor.Shape {
	_, at := x.ends(i)
	end := x.records[i].dimsEnd
	return x.dims[at:end:end]
}

// Place returns the position of tensor i's data: size bytes at an offset of a space.
// The offset is -1 for data stored in another form.
func (x *Index) Place(i int) (s Space, offset, size int64) {
	r := &x.records[i]
	return r.space, r.offset, r.size
}

// Size returns the size of tensor i in bytes.
func (x *Index) Size(i int) int64 { return x.records[i].size }

// Loaded reports whether the bytes of tensor i come from Parsed.Load.
func (x *Index) Loaded(i int) bool { return x.records[i].loaded }

// Compression returns the compression of tensor i, or "".
func (x *Index) Compression(i int) string { return x.more(i).compression }

// Describe fills in the description of tensor i.
func (x *Index) Describe(i int, info *tensor.Info) {
	r := &x.records[i]
	e := x.more(i)
	*info = tensor.Info{
		Name: x.Name(i), DType: r.dtype, Shape: x.Shape(i), Quant: e.quant, Encoding: e.encoding,
		File: int(r.space), Offset: r.offset, Size: r.size, Stored: r.size, Compression: e.compression,
	}
	if e.compression != "" {
		info.Stored = e.stored
	}
}

// Lookup returns the index of the tensor with the given name.
func (x *Index) Lookup(name string) (i int, ok bool) {
	slot, ok := x.find(hashOf(name), name)
	if ok {
		i = int(uint32(x.slots[slot])) - 1
	}
	return i, ok
}

// LookupBytes is Lookup for bytes.
func (x *Index) LookupBytes(name []byte) (i int, ok bool) { return x.Lookup(memory.String(name)) }

func hashOf(name string) uint64 { return maphash.String(seed, name) >> 32 }

// find returns the slot of the name, or the free slot where it belongs, if there are any.
func (x *Index) find(hash uint64, name string) (slot int, found bool) {
	mask := len(x.slots) - 1
	for slot = int(hash) & mask; len(x.slots) > 0; slot = (slot + 1) & mask {
		s := x.slots[slot]
		if s == 0 {
			break
		}
		if s>>32 == hash && string(x.nameBytes(int(uint32(s)-1))) == name {
			return slot, true
		}
	}
	return slot, false
}

// rehash moves the table's entries to one of the given size.
func (x *Index) rehash(size int) {
	old := x.slots
	x.slots = slices.Grow(x.spare[:0], size)[:size]
	x.spare = old
	clear(x.slots)
	for _, s := range old {
		if s != 0 {
			slot, _ := x.find(s>>32, "") // a free one: no name is empty
			x.slots[slot] = s
		}
	}
}
