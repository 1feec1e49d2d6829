package mag

import (
	"cmp"
	"errors"
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
	driver.Parsed
	src      driver.Source
	index    *driver.Index
	snapshot bool
	end      int64    // end of the structural part: header and records
	dataEnd  int64    // end of the last tensor data
	form     *sumForm // of the checksum of version 1; nil if it was not checked
	digests  []digest // by tensor; nil if none is recorded
	digested int      // tensors with a digest
	stamp    uint64   // timestamp of a snapshot, in Unix seconds
}

// parse reads the structure of either container.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	f := &parsed{src: src, index: x}
	d := decoder{head: driver.ReadHead(src, o), size: src.Size()}
	err := f.parse(&d, o)
	return f, cmp.Or(err, d.head.Close(f.end))
}

func (f *parsed) parse(d *decoder, o *driver.Options) error {
	if m := d.next("magic", len(magic)); m != nil && string(m) != magic {
		return wire.Errorf(formatName, "magic", 0, format.ErrMagic, "% x instead of %q", m, magic)
	}
	version := d.u32("version")
	if d.err != nil {
		return d.err
	}
	switch version {
	case wordV1:
		return f.parseV1(d, o)
	case wordSnapshot:
		return f.parseSnapshot(d, o)
	}
	return wire.Errorf(formatName, "version", 4, format.ErrVersion, "%d; known are 1 and 100 (0.1.0)", version)
}

// decoder reads the structural part of a file. Neither container stores the size
// of that part, so the decoder reads ahead as far as it needs to.
type decoder struct {
	head *driver.Head
	b    []byte // the beginning of the file
	at   int
	size int64 // of the file
	err  error // the first failure; after it, next returns nil
	left int   // records that were not read yet
}

const typicalRecord = 48 // bytes

// next returns the next n bytes, nil after a failure. They are valid until the next call.
func (d *decoder) next(field string, n int) []byte {
	at := d.at
	if n > len(d.b)-at && !d.read(field, n) {
		return nil
	}
	d.at = at + n
	return d.b[at:d.at]
}

// read reads the file up to n bytes behind the position, and as much more as the
// remaining records probably take.
func (d *decoder) read(field string, n int) bool {
	end := int64(d.at) + int64(n)
	if d.err == nil && end > d.size {
		d.fail(field, d.at, format.ErrTruncated, "needs %d bytes, the file ends at %d", n, d.size)
	}
	if d.err != nil {
		return false
	}
	d.head.Expect(end + typicalRecord*int64(d.left))
	if d.b, d.err = d.head.Need(end); d.err != nil {
		d.b = nil
	}
	if errors.Is(d.err, format.ErrLimit) {
		d.err = wire.Error(formatName, "header", -1, d.err)
	}
	return d.err == nil
}

// fail records the first failure, at offset at of the file.
func (d *decoder) fail(field string, at int, sentinel error, text string, args ...any) {
	if d.err == nil {
		d.b, d.err = nil, wire.Errorf(formatName, field, int64(at), sentinel, text, args...)
	}
}

func (d *decoder) u32(field string) uint32 {
	if p := d.next(field, 4); p != nil {
		return u32(p, 0)
	}
	return 0
}

// mark checks one of the four-byte markers between sections.
func (d *decoder) mark(want string) {
	if m := d.next("marker "+want, len(want)); m != nil && string(m) != want {
		d.fail("marker "+want, d.at-len(want), format.ErrCorrupt, "found %q", m)
	}
}

// expect checks that n, the number of tensors in the header, is within the limit, and
// that the file is not smaller than least bytes.
func (d *decoder) expect(field string, at int64, n uint32, least uint64) error {
	if n > driver.MaxTensors {
		return wire.Errorf(formatName, field, at, format.ErrLimit, "%d tensors, at most %d are allowed", n, driver.MaxTensors)
	}
	if least > uint64(d.size) {
		return wire.Errorf(formatName, field, at, format.ErrTruncated, "%d tensors, with all else, take at least %d bytes; the file has %d", n, least, d.size)
	}
	return nil
}

// container has the offsets of the fields that the records of both containers have.
type container struct {
	dtypes             []tensor.DType
	dtype, numel, dims int // offsets in a record
}

// record is the tensor record being read.
type record struct {
	*container
	b      []byte // the record
	at     int    // file offset of the record
	keyAt  int    // file offset of the key
	tensor driver.Tensor
}

func (r *record) bad(field string, off int, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, int64(r.at+off), sentinel, "%s (tensor %q)", fmt.Sprintf(text, args...), r.tensor.Name)
}

// decode fills in dtype, shape and size of the tensor and checks its name.
func (r *record) decode(rank int, x *driver.Index) error {
	t := &r.tensor
	t.DType = dtypeOf(r.dtypes, r.b[r.dtype])
	if !t.DType.Valid() {
		return r.bad("tensor dtype", r.dtype, format.ErrUnsupported, "unknown code %d", r.b[r.dtype])
	}
	if err := driver.CheckName(t.Name); err != nil {
		return wire.Error(formatName, "tensor key", int64(r.keyAt), err)
	}
	t.Shape = x.Dims(rank)
	elems := uint64(1)
	for i := range t.Shape {
		d := u64(r.b, r.dims+8*i)
		hi, lo := bits.Mul64(elems, d)
		if hi != 0 || lo == 0 || lo > math.MaxInt64 {
			return r.bad("tensor shape", r.dims+8*i, format.ErrCorrupt, "dim %d is 0 or the product reaches 2^63", i)
		}
		t.Shape[i], elems = int64(d), lo
	}
	if numel := u64(r.b, r.numel); numel != elems {
		return r.bad("tensor numel", r.numel, format.ErrCorrupt, "%d, but the product of the dims is %d", numel, elems)
	}
	hi, size := bits.Mul64(elems, uint64(t.DType.Size()))
	if hi != 0 || size > math.MaxInt64 {
		return r.bad("tensor numel", r.numel, format.ErrCorrupt, "%d elements of %v reach 2^63 bytes", elems, t.DType)
	}
	t.Size = int64(size)
	return nil
}

// notes lists irregularities that readers tolerate.
func (f *parsed) notes() []string {
	var notes []string
	if f.form != nil && f.form.note != "" {
		notes = append(notes, f.form.note)
	}
	end, _ := wire.AlignUp(f.dataEnd, dataAlign)
	if f.index.Len() == 0 {
		end = f.end
	}
	if n := f.src.Size() - end; n > 0 && !f.snapshot {
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

// digest returns the recorded checksum of the data of tensor i.
func (f *parsed) digest(i int) driver.Sum {
	if f.digests == nil || !f.digests[i].recorded {
		return driver.Sum{}
	}
	return driver.Sum{Kind: driver.XXH64, Want: f.digests[i].sum}
}

// verify checks the checksum in the header again.
func (f *parsed) verify(v driver.Verification) error {
	b, err := f.src.Slice(0, f.end)
	if err != nil {
		return err
	}
	if f.snapshot {
		v.Section("header and descriptors", "crc32c")
		return checkSnapshot(b)
	}
	form, err := checkV1(b)
	v.Section("header and records", form.kind)
	return err
}
