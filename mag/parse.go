package mag

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file, except for its index.
type parsed struct {
	out       driver.Parsed
	container *container
	src       driver.Source
	index     *driver.Index
	end       int64 // end of the structural part: header and records
	dataEnd   int64 // end of the last tensor data
	checksum  sums
	form      int      // number of the form of the checksum; -1 if it was not compared
	digests   []digest // by tensor; nil if none is recorded
	digested  int      // tensors with a digest
	stamp     uint64   // timestamp of a snapshot, in Unix seconds
}

// parser reads the structural part of a file. Neither container stores the size of that part. So a
// first pass over the records finds its end, and a second one lists the tensors, after the
// checksum.
type parser struct {
	r      wire.Record
	f      *parsed
	opts   *driver.ParseOptions
	stored uint32 // checksum
}

// record is a tensor's record in either container.
type record struct {
	at     int64 // file offset in version 1
	code   uint8
	aux    uint16       // version 1
	dtype  tensor.DType // Invalid for an unknown code
	numel  uint64
	offset uint64
	shape  wire.Uint64s
	name   []byte
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	f := &parsed{src: src, index: x}
	head := driver.ReadHead(src, o)
	p := parser{r: wire.HeadRecord(formatName, head, 0, src.Size()), f: f, opts: o}
	p.parse()
	closeErr := head.Close(f.end)
	if p.r.Err() != nil {
		return nil, p.r.Err()
	}
	if closeErr != nil {
		return nil, closeErr
	}
	f.out.Own = f
	f.out.HeaderSize = f.end
	f.out.Notes = f.notes()
	f.out.Sums = f.sumList
	f.out.TensorSum = f.digest
	return &f.out, nil
}

func (p *parser) parse() {
	p.r.Text("magic", magic, format.ErrMagic)
	version := p.r.U32("version")
	switch version {
	case wordV1:
		p.f.container = &containerV1
		p.parseV1()
	case wordSnapshot:
		p.f.container = &containerSnapshot
		p.parseSnapshot()
	default:
		p.r.Bad(format.ErrVersion, "%d; known are 1 and 100 (0.1.0)", version)
	}
}

const typicalRecord = 48 // bytes

// fitsTensors refuses a number of tensors that is above the limit of all formats, or more than the
// rest of the file has room for.
func (p *parser) fitsTensors(field string, n uint32, least uint64) {
	if n > driver.MaxTensors {
		p.r.BadField(field, format.ErrLimit, "%d tensors, at most %d are allowed", n, driver.MaxTensors)
	}
	p.r.Fits(field, uint64(n), least)
}

// endStructure ends the structural part at the next byte and compares its checksum.
func (p *parser) endStructure() {
	if p.r.Err() != nil {
		return
	}
	f := p.f
	f.end = p.r.Offset()
	f.dataEnd = f.end
	f.index.Version = f.container.version
	f.checksum.declare(f.container, f.end, p.stored)
	form, err := f.src.Compare(&f.checksum.from12, p.r.Window(0, f.end), 0)
	if err != nil {
		p.r.Fail("checksum", f.container.checksumAt, err)
	}
	f.form = form
}

// bad refuses a field of a tensor's record. The error names the tensor.
func (p *parser) bad(t *record, field string, sentinel error, text string, args ...any) {
	p.locate(t)
	p.r.BadField(field, sentinel, "%s (tensor %q)", fmt.Sprintf(text, args...), t.name)
}

// list checks a record and lists its tensor, whose data is at t.offset of the file. The errors of
// the parser are about other fields than the name; the one it returns is about the name.
func (p *parser) list(t *record) error {
	f := p.f
	if !t.dtype.Valid() {
		p.bad(t, "tensor dtype", format.ErrUnsupported, "unknown code %d", t.code)
	}
	shape := f.index.Dims(t.shape.Len())
	elems := uint64(1)
	for i := range shape {
		d := t.shape.At(i)
		hi, lo := bits.Mul64(elems, d)
		if hi != 0 || lo == 0 || lo > math.MaxInt64 {
			p.locate(t)
			p.r.BadItem("tensor shape", i, format.ErrCorrupt,
				"dim %d is 0 or the product reaches 2^63 (tensor %q)", i, t.name)
		}
		shape[i] = int64(d)
		elems = lo
	}
	if t.numel != elems {
		p.bad(t, "tensor numel", format.ErrCorrupt, "%d, but the product of the dims is %d", t.numel,
			elems)
	}
	hi, size := bits.Mul64(elems, uint64(t.dtype.Size()))
	if hi != 0 || size > math.MaxInt64 {
		p.bad(t, "tensor numel", format.ErrCorrupt, "%d elements of %v reach 2^63 bytes", elems, t.dtype)
	}
	fileSize := uint64(f.src.Size())
	if t.offset > fileSize || size > fileSize-t.offset {
		p.bad(t, "tensor offset", format.ErrTruncated, "%d bytes at %d, the file has %d", size, t.offset,
			fileSize)
	}
	if t.offset < uint64(f.end) {
		p.bad(t, "tensor offset", format.ErrCorrupt, "%d lies inside header and records, which end at %d",
			t.offset, f.end)
	}
	if p.r.Err() != nil {
		return nil
	}
	f.dataEnd = max(f.dataEnd, int64(t.offset+size))
	return f.index.Add(&driver.Tensor{
		Name:   t.name,
		DType:  t.dtype,
		Shape:  shape,
		Offset: int64(t.offset),
		Size:   int64(size),
	})
}

// notes lists irregularities that readers tolerate.
func (f *parsed) notes() []string {
	var notes []string
	form := formOf(f.form)
	if form != nil && form.note != "" {
		notes = append(notes, form.note)
	}
	end := wire.AlignUp(f.dataEnd, dataAlign)
	if f.index.Len() == 0 {
		end = f.end
	}
	trailing := f.src.Size() - end
	if trailing > 0 {
		notes = append(notes, plural(trailing, "byte follows", "bytes follow")+" the last tensor")
	}
	unchecked := f.index.Len() - f.digested
	if unchecked > 0 {
		what := plural(int64(unchecked), "tensor has", "tensors have")
		notes = append(notes, what+" no digest: the data cannot be checked")
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
