package mag

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// parsed is an open file, except for its index.
type parsed struct {
	driver.Parsed
	*container
	src      driver.Source
	index    *driver.Index
	end      int64 // end of the structural part: header and records
	dataEnd  int64 // end of the last tensor data
	checksum sums
	form     int      // number of the form of the checksum; -1 if it was not compared
	digests  []digest // by tensor; nil if none is recorded
	digested int      // tensors with a digest
	stamp    uint64   // timestamp of a snapshot, in Unix seconds
}

// parser reads the structural part of a file. Neither container stores the size of that part. So a first pass
// finds its end, and a second one decodes the records, after the checksum.
type parser struct {
	*parsed
	wire.Cursor
	head *driver.Head
	opts *driver.ParseOptions
	pool *pool  // nil in version 1
	b    []byte // the structural part
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	p := parser{parsed: &parsed{src: src, index: x}, head: driver.ReadHead(src, o), opts: o}
	p.Cursor = wire.HeadCursor(formatName, p.head, src.Size())
	p.parse()
	f := p.parsed
	if err := cmp.Or(p.Err(), p.head.Close(f.end)); err != nil {
		return nil, err
	}
	f.Own = f
	f.HeaderSize = f.end
	f.Notes = f.notes()
	f.Sums = f.sumList
	f.TensorSum = f.digest
	return &f.Parsed, nil
}

func (p *parser) parse() {
	p.mark("magic", magic, format.ErrMagic)
	switch version := p.U32("version"); version {
	case wordV1:
		p.container = &containerV1
		p.parseV1()
	case wordSnapshot:
		p.container = &containerSnapshot
		p.parseSnapshot()
	default:
		p.Failf("version", 4, format.ErrVersion, "%d; known are 1 and 100 (0.1.0)", version)
	}
}

const typicalRecord = 48 // bytes

// next reports whether n more records are to be read. It announces their size.
func (p *parser) next(n int) bool {
	p.head.Expect(p.Offset() + typicalRecord*int64(n))
	return n > 0 && p.Err() == nil
}

// mark checks four bytes that are always the same.
func (p *parser) mark(field, want string, sentinel error) {
	if m := p.Bytes(field, uint64(len(want))); m != nil && string(m) != want {
		p.Failf(field, p.Offset()-int64(len(want)), sentinel, "% x instead of %q", m, want)
	}
}

// expect checks that n, the number of tensors in the header, is within the limit, and
// that the file is not smaller than least bytes.
func (p *parser) expect(field string, at int64, n uint32, least uint64) {
	switch size := uint64(p.src.Size()); {
	case n > driver.MaxTensors:
		p.Failf(field, at, format.ErrLimit, "%d tensors, at most %d are allowed", n, driver.MaxTensors)
	case least > size:
		p.Failf(field, at, format.ErrTruncated, "%d tensors, with all else, take at least %d bytes; the file has %d", n, least, size)
	}
}

// records reads the records of n tensors. The first pass over them ends the structural part, whose checksum it checks.
func (p *parser) records(n int) {
	first, dims := int(p.Offset()), 0
	for left := n; p.next(left); left-- {
		dims += p.skip()
	}
	end := int(p.Offset())
	nameBytes := end - first - n*(p.shape+4) - 8*dims
	if p.pool != nil {
		nameBytes = p.pool.size
		p.mark("marker "+markerBuffer, markerBuffer, format.ErrCorrupt)
	}
	if p.Err() != nil {
		return
	}
	p.end, p.dataEnd = p.Offset(), p.Offset()
	p.b = p.Window(0, p.end)
	p.index.Version = p.version
	p.checksum.declare(p.container, p.end, u32(p.b, int(p.checksumAt)))
	form, err := p.src.Compare(&p.checksum.from12, p.b, 0)
	if err != nil {
		p.Fail("checksum", p.checksumAt, err)
	}
	p.form = form
	p.index.Grow(n, nameBytes, dims)
	if p.pool != nil && p.Err() == nil {
		p.checkPool()
	}
	for at := first; at < end && p.Err() == nil; {
		at = p.tensor(at)
	}
}

// skip skips a tensor's record and returns its rank.
func (p *parser) skip() (rank int) {
	at := p.Offset()
	head := p.Bytes(p.record, uint64(p.shape))
	if head == nil {
		return 0
	}
	rank, id := int(head[p.rank]), u32(head, 4)
	if rank < p.minRank || rank > p.maxRank {
		p.Failf("tensor rank", at+int64(p.rank), format.ErrCorrupt, "%d, not %d to %d", rank, p.minRank, p.maxRank)
	}
	if p.pool == nil {
		p.key("tensor key", p.Bytes("tensor shape", 8*uint64(rank)+4))
	} else if p.Bytes("tensor shape", 8*uint64(rank)); uint64(id) >= uint64(p.pool.count) {
		p.Failf("tensor key_id", at+4, format.ErrCorrupt, "%d, the pool has %d strings", id, p.pool.count)
	}
	return rank
}

// tensor adds the tensor of the record at an offset, and returns the next offset. Its errors name the tensor.
func (p *parser) tensor(at int) (next int) {
	b, t := p.b[at:], driver.Tensor{DType: p.dtypes[p.b[at+p.dtype]]}
	rank, id := int(b[p.rank]), int(u32(b, 4))
	keyAt, next := at+4, at+p.shape+8*rank
	if p.pool != nil {
		t.Name = p.b[p.pool.at(p.b, id):p.pool.at(p.b, id+1)]
	} else {
		keyAt, next = next+4, next+4+int(u32(p.b, next))
		t.Name = p.b[keyAt:next]
	}
	bad := func(field string, off int, sentinel error, text string, args ...any) {
		p.Failf(field, int64(at+off), sentinel, "%s (tensor %q)", fmt.Sprintf(text, args...), t.Name)
	}
	if p.pool == nil && b[2]|b[3] != 0 {
		bad("tensor aux", 0, format.ErrCorrupt, "reserved bits are set")
	}
	if !t.DType.Valid() {
		bad("tensor dtype", p.dtype, format.ErrUnsupported, "unknown code %d", b[p.dtype])
	}
	if err := driver.CheckName(t.Name); err != nil {
		p.Fail("tensor key", int64(keyAt), err)
	}
	t.Shape = p.index.Dims(rank)
	elems := uint64(1)
	for i := range t.Shape {
		d := u64(b, p.shape+8*i)
		hi, lo := bits.Mul64(elems, d)
		if hi != 0 || lo == 0 || lo > math.MaxInt64 {
			bad("tensor shape", p.shape+8*i, format.ErrCorrupt, "dim %d is 0 or the product reaches 2^63", i)
		}
		t.Shape[i], elems = int64(d), lo
	}
	if numel := u64(b, p.numel); numel != elems {
		bad("tensor numel", p.numel, format.ErrCorrupt, "%d, but the product of the dims is %d", numel, elems)
	}
	hi, size := bits.Mul64(elems, uint64(t.DType.Size()))
	if hi != 0 || size > math.MaxInt64 {
		bad("tensor numel", p.numel, format.ErrCorrupt, "%d elements of %v reach 2^63 bytes", elems, t.DType)
	}
	offset, field, fileSize := u64(b, p.offset), "tensor offset", uint64(p.src.Size())
	if p.pool != nil {
		if before := uint64(p.dataEnd - p.end); offset != before {
			bad(field, p.offset, format.ErrCorrupt, "%d, the tensors before end at %d", offset, before)
		}
		offset, field = uint64(p.dataEnd), "tensor data"
	}
	switch {
	case offset > fileSize || size > fileSize-offset:
		bad(field, p.offset, format.ErrTruncated, "%d bytes at %d, the file has %d", size, offset, fileSize)
	case offset < uint64(p.end):
		bad(field, p.offset, format.ErrCorrupt, "%d lies inside header and records, which end at %d", offset, p.end)
	}
	if p.Err() != nil {
		return next
	}
	t.Offset, t.Size = int64(offset), int64(size)
	if err := p.index.Add(&t); err != nil {
		p.Fail(p.keyField, int64(keyAt), err)
	}
	p.dataEnd = max(p.dataEnd, t.Offset+t.Size)
	return next
}

// notes lists irregularities that readers tolerate.
func (f *parsed) notes() []string {
	var notes []string
	if form := formOf(f.form); form != nil && form.note != "" {
		notes = append(notes, form.note)
	}
	end := wire.AlignUp(f.dataEnd, dataAlign)
	if f.index.Len() == 0 {
		end = f.end
	}
	if n := f.src.Size() - end; n > 0 {
		notes = append(notes, plural(n, "byte follows", "bytes follow")+" the last tensor")
	}
	if n := f.index.Len() - f.digested; n > 0 {
		notes = append(notes, plural(int64(n), "tensor has", "tensors have")+" no digest: the data cannot be checked")
	}
	return notes
}

func plural(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// digest is the XXH64 of a tensor's data.
type digest struct {
	sum      uint64
	recorded bool
}

// digest returns the recorded checksum of the data of tensor i.
func (f *parsed) digest(i int) driver.Digest {
	if f.digests == nil || !f.digests[i].recorded {
		return driver.Digest{}
	}
	return driver.Digest{Kind: driver.XXH64, Want: f.digests[i].sum}
}

// sumList implements driver.Parsed.
func (f *parsed) sumList() []driver.Sum { return []driver.Sum{f.checksum.from12} }
