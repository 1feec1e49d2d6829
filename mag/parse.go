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

// parsed is what is kept of an open file besides its index.
type parsed struct {
	src      driver.Source
	index    *driver.Index
	snapshot bool
	end      int64    // of the structural part: header and records
	dataEnd  int64    // of the last tensor data
	form     sumForm  // of version 1's checksum, when it was checked
	digests  []uint64 // by tensor; nil when there are none
	named    []byte   // by tensor: what the metadata holds under the key of its digest
	meta     driver.Metadata
	stamp    uint64 // snapshot: Unix seconds
}

// parse reads the structure of either container.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	h := driver.ReadHead(src, o)
	f := &parsed{src: src, index: x}
	err := f.parse(h, o)
	return f, cmp.Or(err, h.Close(f.end))
}

func (f *parsed) parse(h *driver.Head, o *driver.Options) error {
	head, err := f.upTo(h, snapHeader+int64(len(markerPool)))
	if err != nil {
		return err
	}
	c := wire.NewCursor(formatName, head, 0)
	if m := c.Bytes("magic", uint64(len(magic))); c.Err() == nil && string(m) != magic {
		return wire.Errorf(formatName, "magic", 0, format.ErrMagic, "% x instead of %q", m, magic)
	}
	version := c.U32("version")
	if c.Err() != nil {
		return c.Err()
	}
	switch version {
	case wordV1:
		return f.parseV1(h, head, o)
	case wordSnapshot:
		c.Seek("string pool", snapHeader)
		if m := c.Bytes("string pool", uint64(len(markerPool))); c.Err() == nil && string(m) != markerPool {
			return wire.Errorf(formatName, "version", 4, format.ErrVersion,
				"100 without %q at byte 32: a development build wrote this, and its dtype codes are ambiguous", markerPool)
		}
		if c.Err() != nil {
			return c.Err()
		}
		return f.parseSnapshot(h, head, o)
	}
	return wire.Errorf(formatName, "version", 4, format.ErrVersion, "%d; known are 1 and 100 (0.1.0)", version)
}

// upTo returns the first n bytes of the file, or all of a shorter one, and those that were read with them.
func (f *parsed) upTo(h *driver.Head, n int64) ([]byte, error) {
	b, err := h.Need(min(n, f.src.Size()))
	if errors.Is(err, format.ErrLimit) {
		err = wire.Error(formatName, "header", -1, err)
	}
	return b, err
}

// measurer finds the end of a structural part.
type measurer interface {
	// measure reads c, the beginning of a file or all of it, from where the call before stopped.
	measure(c *wire.Cursor, all bool)
	// guess estimates where the structural part ends.
	guess() int64
}

// grow has m measure longer and longer beginnings of the file until one holds
// the whole structural part, and returns that.
func (f *parsed) grow(h *driver.Head, m measurer) ([]byte, error) {
	var c wire.Cursor
	b, err := []byte(nil), error(nil)
	for err == nil {
		h.Expect(m.guess())
		if b, err = f.upTo(h, int64(len(b))+1); err != nil {
			break
		}
		c = wire.NewCursor(formatName, b, 0)
		all := int64(len(b)) == f.src.Size()
		m.measure(&c, all)
		if c.Err() == nil {
			return b, nil
		}
		if all || !errors.Is(c.Err(), format.ErrTruncated) {
			err = c.Err()
		}
	}
	return nil, err
}

// take is c.Bytes. Unless c has all of the file, it fails without a text that nobody reads.
func take(c *wire.Cursor, field string, n uint64, all bool) []byte {
	if !all && n > uint64(c.Left()) {
		c.Fail(field, c.Offset(), format.ErrTruncated)
		return nil
	}
	return c.Bytes(field, n)
}

// checkCount compares the number of tensors in the header with the limit, and
// the least number of bytes that all records take with the size of the file.
func (f *parsed) checkCount(field string, at int64, n uint32, least uint64) error {
	if n > driver.MaxTensors {
		return wire.Errorf(formatName, field, at, format.ErrLimit, "%d tensors, at most %d are allowed", n, driver.MaxTensors)
	}
	if least > uint64(f.src.Size()) {
		return wire.Errorf(formatName, field, at, format.ErrTruncated, "%d tensors, with all else, take at least %d bytes; the file has %d", n, least, f.src.Size())
	}
	return nil
}

// record says where a tensor record has what both containers check alike.
type record struct {
	at          int64 // of the record
	dims        []byte
	dimsAt      int64 // in the record
	numel       uint64
	numelAt     int64
	key         []byte
	dtype       byte
	dtypeAt     int64
	dtypesKnown []tensor.DType
}

func (r *record) bad(field string, off int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, r.at+off, sentinel, "%s (tensor %q)", fmt.Sprintf(text, args...), r.key)
}

// setDType decodes the dtype of a tensor.
func (r *record) setDType(t *driver.Tensor) error {
	t.Name, t.DType = r.key, dtypeOf(r.dtypesKnown, r.dtype)
	if !t.DType.Valid() {
		return r.bad("tensor dtype", r.dtypeAt, format.ErrUnsupported, "unknown code %d", r.dtype)
	}
	return nil
}

// setShape decodes shape and size.
func (r *record) setShape(t *driver.Tensor, x *driver.Index) error {
	t.Shape = x.Dims(len(r.dims) / 8)
	elems := uint64(1)
	for i := range t.Shape {
		d := u64(r.dims, 8*i)
		hi, lo := bits.Mul64(elems, d)
		if hi != 0 || lo == 0 || lo > math.MaxInt64 {
			return r.bad("tensor shape", r.dimsAt+int64(8*i), format.ErrCorrupt, "dim %d is 0 or the product reaches 2^63", i)
		}
		t.Shape[i], elems = int64(d), lo
	}
	if r.numel != elems {
		return r.bad("tensor numel", r.numelAt, format.ErrCorrupt, "%d, the dims make it %d", r.numel, elems)
	}
	hi, size := bits.Mul64(elems, uint64(t.DType.Size()))
	if hi != 0 || size > math.MaxInt64 {
		return r.bad("tensor numel", r.numelAt, format.ErrCorrupt, "%d elements of %v reach 2^63 bytes", elems, t.DType)
	}
	t.Size = int64(size)
	return nil
}

// notes says what is tolerable about the file.
func (f *parsed) notes() []string {
	var notes []string
	if n := f.form.note(); n != "" {
		notes = append(notes, n)
	}
	end, _ := wire.AlignUp(f.dataEnd, dataAlign)
	if f.index.Len() == 0 {
		end = f.end
	}
	if n := f.src.Size() - end; n > 0 && !f.snapshot {
		notes = append(notes, plural(n, "byte follows", "bytes follow")+" the last tensor")
	}
	missing := 0
	for i := range f.index.Len() {
		if !f.hasDigest(i) {
			missing++
		}
	}
	if missing > 0 {
		notes = append(notes, plural(int64(missing), "tensor has", "tensors have")+" no digest: the data cannot be checked")
	}
	return notes
}

func plural(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// hasDigest reports whether the file holds the digest of tensor i.
func (f *parsed) hasDigest(i int) bool { return f.named != nil && f.named[i] == namedDigest }

func (f *parsed) tensorSum(i int) driver.Sum {
	if !f.hasDigest(i) {
		return driver.Sum{}
	}
	return driver.Sum{Kind: driver.XXH64, Want: f.digests[i]}
}

// verify checks the checksum in the header again.
func (f *parsed) verify(v driver.Verification) error {
	n := f.end
	if f.snapshot {
		n -= int64(len(markerBuffer))
	}
	b, err := f.src.Slice(0, n)
	if err != nil {
		return err
	}
	if f.snapshot {
		v.Section("header and descriptors", "crc32c")
		return checkSnapshot(b)
	}
	form, err := checkV1(b)
	v.Section("header and records", form.kind())
	return err
}
