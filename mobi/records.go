package mobi

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// record is where the data of a constant is.
type record struct {
	id     uint32
	offset uint32
	stored uint32
	gzip   bool
}

// recordHead is the header of a constant as it is in the file. Its shape is valid
// until the window moves.
type recordHead struct {
	at     int64 // file offset of the record
	id     uint32
	typ    uint16 // with the compression flag
	shape  []byte // 8 bytes each
	size   uint64 // of the data as stored
	dataAt int64
}

// nextRecord reads the header of the record at off, which must end before end.
func (w *parser) nextRecord(h *recordHead, off, end int64) error {
	if end-off < recordMin {
		return wire.Errorf(name, "constant", off, format.ErrTruncated, "%d bytes are left before the operator graph", end-off)
	}
	b, err := w.Bytes(off, 8)
	if err != nil {
		return err
	}
	h.at, h.id, h.typ = off, binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[4:])
	rank := int64(binary.LittleEndian.Uint16(b[6:]))
	h.dataAt = off + recordMin + 8*rank
	// The file has the shape only if it has room for it.
	if h.dataAt > end {
		return wire.Errorf(name, "constant shape", off+8, format.ErrTruncated, "rank %d with %d bytes left before the operator graph", rank, end-off)
	}
	if b, err = w.Bytes(off+8, 8*rank+8); err != nil {
		return err
	}
	h.shape, h.size = b[:8*rank], binary.LittleEndian.Uint64(b[8*rank:])
	if left := end - h.dataAt; h.size > uint64(left) {
		return wire.Errorf(name, "constant data size", h.dataAt-8, format.ErrTruncated, "constant %d has %d bytes, %d are left before the operator graph", h.id, h.size, left)
	}
	return nil
}

// next is the offset of the record that follows.
func (h *recordHead) next() int64 { return h.dataAt + int64(h.size) }

var records wire.Pool[record]

// constants reads the records of all constants. How many there are is not known before.
func (p *parser) constants() error {
	from, end := int64(p.header.TensorOffset), int64(p.header.GraphOffset)
	list := records.Get()
	var h recordHead
	for off := from; off < end; {
		if err := p.record(&h, len(*list), off); err != nil {
			return err
		}
		rec, err := p.constant(&h)
		if err != nil {
			return err
		}
		*list = append(*list, rec)
		off = h.next()
	}
	p.records = records.Done(list)
	return nil
}

// record reads the header of record n.
func (p *parser) record(h *recordHead, n int, off int64) error {
	if n == p.opts.MaxTensors {
		return wire.Errorf(name, "constants", off, format.ErrLimit, "more than %d", n)
	}
	if n%cancelEvery == 0 && p.opts.Context.Err() != nil {
		return p.opts.Context.Err()
	}
	return p.nextRecord(h, off, int64(p.header.GraphOffset))
}

// cancelEvery is how many records are read between two looks at the context.
const cancelEvery = 1024

// constant checks one record and lists it.
func (p *parser) constant(h *recordHead) (rec record, err error) {
	if err := p.spend("constants", h.at, recordMin+int64(len(h.shape))); err != nil {
		return rec, err
	}
	t := driver.Tensor{Offset: h.dataAt, DType: DataType(h.typ &^ gzipFlag).DType()}
	if !t.DType.Valid() {
		return rec, h.errorf("data type", 4, format.ErrUnsupported, "%d", h.typ&^gzipFlag)
	}
	t.Shape = p.index.Dims(len(h.shape) / 8)
	for i := range t.Shape {
		d := binary.LittleEndian.Uint64(h.shape[8*i:])
		if d > math.MaxInt64 {
			return rec, h.errorf("shape", 8+8*i, format.ErrCorrupt, "dim %d is %d", i, d)
		}
		t.Shape[i] = int64(d)
	}
	if t.Size, err = t.Shape.ByteSize(t.DType); err != nil {
		return rec, h.fail("shape", 8, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	rec = record{id: h.id, offset: uint32(h.dataAt), stored: uint32(h.size), gzip: h.typ&gzipFlag != 0}
	if !rec.gzip && uint64(t.Size) != h.size {
		if rec.gzip, err = p.isGzip(h); err != nil {
			return rec, err
		}
		if !rec.gzip {
			return rec, h.errorf("data size", 8+len(h.shape), format.ErrCorrupt, "%d bytes, but %v %v takes %d", h.size, t.DType, t.Shape, t.Size)
		}
		p.seen.unflagged++
	}
	if rec.gzip {
		t.Offset, t.Stored, t.Compression, t.Loaded = -1, int64(h.size), "gzip", true
	}
	t.Name = strconv.AppendUint(p.digits[:0], uint64(h.id), 10)
	if p.index.Add(&t) != nil {
		return rec, h.errorf("id", 0, format.ErrCorrupt, "occurs twice")
	}
	return rec, nil
}

// isGzip tells whether the data of a record begins like a gzip member.
func (w *parser) isGzip(h *recordHead) (bool, error) {
	if h.size < 2 {
		return false, nil
	}
	b, err := w.Bytes(h.dataAt, 2)
	return err == nil && b[0] == 0x1F && b[1] == 0x8B, err
}

// fail makes the error for a field that is so many bytes into the record.
func (h *recordHead) fail(field string, rel int, err error) error {
	return wire.Error(name, "constant "+constantName(h.id)+" "+field, h.at+int64(rel), err)
}

func (h *recordHead) errorf(field string, rel int, sentinel error, text string, args ...any) error {
	return h.fail(field, rel, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

// lookup returns the position of the constant with that id.
func (f *parsed) lookup(id uint32) (int, bool) {
	var digits [10]byte
	return f.index.LookupBytes(strconv.AppendUint(digits[:0], uint64(id), 10))
}
