package tsr

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

const (
	name       = "tsr"
	extension  = ".tsr"
	magic      = "TSR!"
	version    = 1
	headerSize = 64
	maxRank    = 4
)

// Offsets of the header's fields.
const (
	offMagic      = 0
	offVersion    = 4
	offHeaderSize = 8
	offReserved1  = 12
	offDType      = 16
	offRank       = 20
	offDims       = 24
	offElements   = 40
	offReserved2  = 48
	offReserved3  = 56
)

// The element types by their codes less one, and the specification's names of them.
var (
	dtypes    = []tensor.DType{tensor.Float32, tensor.Int8, tensor.Int32}
	typeNames = [...]string{"FP32", "INT8", "INT32"}
)

// TypeName returns the specification's name of a dtype: "FP32", "INT8" or
// "INT32", and "" for what a TSR file cannot hold.
func TypeName(d tensor.DType) string {
	if code := codeOf(d); code > 0 {
		return typeNames[code-1]
	}
	return ""
}

// header is what a header says of its tensor.
type header struct {
	dtype tensor.DType
	rank  int
	dims  [maxRank]int64 // right-aligned
	size  int64          // of the data in bytes
}

// shape returns the dims that count.
func (h *header) shape() tensor.Shape { return h.dims[maxRank-h.rank:] }

// decode decodes and checks the header b, up to 64 bytes, of a file of fileSize
// bytes. Its errors name field and offset.
func (h *header) decode(b []byte, fileSize int64) error {
	c := wire.NewCursor(name, b, 0)
	if m := c.Bytes("magic", uint64(len(magic))); m != nil && string(m) != magic {
		c.Failf("magic", offMagic, format.ErrMagic, "the file begins with % x, not %q", m, magic)
	}
	if v := c.I32("version"); v != version {
		c.Failf("version", offVersion, format.ErrVersion, "%d, only 1 is known", v)
	}
	if n := c.I32("header_size"); n != headerSize {
		c.Failf("header_size", offHeaderSize, format.ErrCorrupt, "%d, not 64", n)
	}
	reserved(&c, "reserved_1", offReserved1, int64(c.I32("reserved_1")))
	h.readType(&c)
	h.readDims(&c)
	elements := c.I64("total_elements")
	reserved(&c, "reserved_2", offReserved2, c.I64("reserved_2"))
	reserved(&c, "reserved_3", offReserved3, c.I64("reserved_3"))
	if c.Err() == nil {
		h.checkSize(&c, elements, fileSize)
	}
	return c.Err()
}

func reserved(c *wire.Cursor, field string, offset, value int64) {
	if value != 0 {
		c.Failf(field, offset, format.ErrCorrupt, "%d, not 0", value)
	}
}

func (h *header) readType(c *wire.Cursor) {
	code := c.I32("dtype")
	if code < 1 || code > int32(len(dtypes)) {
		c.Failf("dtype", offDType, format.ErrUnsupported, "dtype %d", code)
		return
	}
	h.dtype = dtypes[code-1]
}

func (h *header) readDims(c *wire.Cursor) {
	rank := c.I32("ndim")
	if rank < 0 || rank > maxRank {
		c.Failf("ndim", offRank, format.ErrCorrupt, "%d, not 0 to 4", rank)
		return
	}
	h.rank = int(rank)
	for i := range h.dims {
		field := [maxRank]string{"dims[0]", "dims[1]", "dims[2]", "dims[3]"}[i]
		at := c.Offset()
		d := int64(c.I32(field))
		switch {
		case d < 0:
			c.Failf(field, at, format.ErrCorrupt, "%d is negative", d)
		case i < maxRank-h.rank && d != 1:
			c.Failf(field, at, format.ErrCorrupt, "%d, but ndim %d leaves it unused: must be 1", d, rank)
		}
		h.dims[i] = d
	}
}

// checkSize compares the shape with total_elements and the size of the file.
func (h *header) checkSize(c *wire.Cursor, elements, fileSize int64) {
	n, err := h.shape().Elems()
	if err == nil {
		h.size, err = h.shape().ByteSize(h.dtype)
	}
	switch {
	case err != nil:
		c.Fail("dims", offDims, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	case n != elements:
		c.Failf("total_elements", offElements, format.ErrCorrupt, "%d, but shape %v has %d", elements, h.shape(), n)
	case fileSize-headerSize < h.size:
		c.Failf("data", fileSize, format.ErrTruncated, "%d bytes are stored, shape %v takes %d", fileSize-headerSize, h.shape(), h.size)
	case fileSize-headerSize > h.size:
		c.Failf("data", headerSize+h.size, format.ErrCorrupt, "%d bytes follow the data", fileSize-headerSize-h.size)
	}
}

// codeOf returns the number of a dtype, 0 for what a file cannot hold.
func codeOf(d tensor.DType) int32 { return int32(slices.Index(dtypes, d) + 1) }

// encode returns the header of a tensor that can have one.
func encode(t *tensor.Info) []byte {
	var b wire.Buffer
	b.Grow(headerSize)
	b.Str(magic)
	for _, v := range []int32{version, headerSize, 0, codeOf(t.DType), int32(len(t.Shape))} {
		b.I32(v)
	}
	for range maxRank - len(t.Shape) {
		b.I32(1)
	}
	for _, d := range t.Shape {
		b.I32(int32(d))
	}
	b.I64(t.Size / t.DType.Size())
	b.I64(0)
	b.I64(0)
	return b.Bytes()
}
