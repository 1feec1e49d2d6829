package mobi

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/wire"
)

// constantHead is the header of a constant as it lies in the file.
type constantHead struct {
	at     int64 // file offset of the record
	id     uint32
	typ    uint16 // with the compression flag
	shape  []byte // 8 bytes each
	size   uint64 // of the data as stored
	dataAt int64
}

// nextConstant reads the header of the record at off, which must end before
// end. The next record is at dataAt + size.
func (s *source) nextConstant(off, end int64) (constantHead, error) {
	h := constantHead{at: off}
	b, err := s.bytes(off, min(recordMin, end-off))
	if err != nil {
		return h, err
	}
	c := wire.NewCursor(name, b, off)
	h.id, h.typ = c.U32("constant id"), c.U16("constant data type")
	rank := c.U16("constant rank")
	if c.Err() != nil {
		return h, c.Err()
	}
	// The file has the shape only if it has room for it.
	b, err = s.bytes(off, min(recordMin+8*int64(rank), end-off))
	if err != nil {
		return h, err
	}
	c = wire.NewCursor(name, b, off)
	c.Bytes("constant", 8)
	h.shape = c.Bytes("constant shape", 8*uint64(rank))
	at := c.Offset()
	h.size = c.U64("constant data size")
	h.dataAt = c.Offset()
	if left := end - h.dataAt; c.Err() == nil && h.size > uint64(left) {
		c.Failf("constant data size", at, format.ErrTruncated, "constant %d has %d bytes, %d are left before the operator graph", h.id, h.size, left)
	}
	return h, c.Err()
}

// next is the offset of the record that follows.
func (h *constantHead) next() int64 { return h.dataAt + int64(h.size) }

// constants reads the records of all constants. In memory it counts them first,
// to ask for memory once; a reader is asked for each header only once, and
// the catalog grows instead.
func (p *parser) constants() error {
	from, end := int64(p.header.TensorOffset), int64(p.header.GraphOffset)
	n, text, dims := 0, 0, 0
	if p.src.region.InMemory() {
		for off := from; off < end; n++ {
			h, err := p.src.nextConstant(off, end)
			if err == nil && n == p.opts.MaxTensors {
				err = tooMany(off, n)
			}
			if err != nil {
				return err
			}
			text += digits(h.id)
			dims += len(h.shape) / 8
			off = h.next()
		}
	}
	p.Catalog = catalog.New(p.src.region, name, "1", n, text, dims)
	p.records = make([]record, 0, n)
	for off := from; off < end; {
		h, err := p.src.nextConstant(off, end)
		if err == nil && p.Len() == p.opts.MaxTensors {
			err = tooMany(off, p.Len())
		}
		if err == nil {
			err = p.constant(&h)
		}
		if err != nil {
			return err
		}
		off = h.next()
	}
	p.Fetch = p.inflate
	return nil
}

func tooMany(off int64, n int) error {
	return wire.Errorf(name, "constants", off, format.ErrLimit, "more than %d", n)
}

// digits returns the length of n in decimal.
func digits(n uint32) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

// constant checks one record and lists it.
func (p *parser) constant(h *constantHead) error {
	t := catalog.Tensor{Offset: h.dataAt, DType: DataType(h.typ &^ gzipFlag).DType()}
	if !t.DType.Valid() {
		return h.errorf("data type", 4, format.ErrUnsupported, "%d", h.typ&^gzipFlag)
	}
	t.Shape = p.Dims(len(h.shape) / 8)
	for i := range t.Shape {
		d := binary.LittleEndian.Uint64(h.shape[8*i:])
		if d > math.MaxInt64 {
			return h.errorf("shape", 8+8*i, format.ErrCorrupt, "dim %d is %d", i, d)
		}
		t.Shape[i] = int64(d)
	}
	var err error
	if t.Size, err = t.Shape.ByteSize(t.DType); err != nil {
		return h.fail("shape", 8, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	rec := record{id: h.id, offset: uint32(h.dataAt), stored: uint32(h.size), gzip: h.typ&gzipFlag != 0}
	if !rec.gzip && uint64(t.Size) != h.size {
		if rec.gzip, err = p.src.isGzip(h); err != nil {
			return err
		}
		if !rec.gzip {
			return h.errorf("data size", 8+len(h.shape), format.ErrCorrupt, "%d bytes, but %v %v takes %d", h.size, t.DType, t.Shape, t.Size)
		}
		p.seen.unflagged++
	}
	if rec.gzip {
		t.Offset, t.Stored, t.Compression, t.Lazy = -1, int64(h.size), "gzip", true
	} else if h.dataAt%t.DType.Size() != 0 && t.Size > 0 {
		p.seen.misaligned++
	}
	p.digits = strconv.AppendUint(p.digits[:0], uint64(h.id), 10)
	t.Name = p.digits
	if !p.Add(&t) {
		return h.errorf("id", 0, format.ErrCorrupt, "occurs twice")
	}
	p.records = append(p.records, rec)
	return nil
}

// isGzip tells whether the data of a record begin like a gzip member.
func (s *source) isGzip(h *constantHead) (bool, error) {
	if h.size < 2 {
		return false, nil
	}
	b, err := s.bytes(h.dataAt, 2)
	return err == nil && b[0] == 0x1F && b[1] == 0x8B, err
}

// fail makes the error for a field that lies so many bytes into the record.
func (h *constantHead) fail(field string, rel int, err error) error {
	return wire.Error(name, "constant "+constantName(h.id)+" "+field, h.at+int64(rel), err)
}

func (h *constantHead) errorf(field string, rel int, sentinel error, text string, args ...any) error {
	return h.fail(field, rel, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

// index returns the position of the constant with that id.
func (f *File) index(id uint32) (int, bool) {
	var buf [10]byte
	return f.IndexBytes(strconv.AppendUint(buf[:0], uint64(id), 10))
}
