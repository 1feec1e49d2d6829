package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// The toy format exists to be broken. Its file is
//
//	"TOY1", u32 size of the records, u32 CRC of the records, u32 tensors, u32 metadata entries, 12 zeros
//	per tensor: u16 name length, name, u8 dtype, u8 rank, u64 dims, u64 offset, u32 CRC of the data
//	per entry: u16 key length, key, i64 value
//	data, each at a multiple of 64
//	"END!" after the data
const (
	toyMagic  = "TOY1"
	toyEnd    = "END!"
	toyHeader = 32
)

// toy is the format with one bug, or with none.
type toy struct{ bug string }

func (y toy) has(bug string) bool { return y.bug == bug }

func (y toy) codec() *format.Codec {
	c := &format.Codec{Name: "toy", Extensions: []string{".toy"}, Detect: y.detect, Parse: y.parse, Encode: y.encode}
	if y.has("writes in place") {
		c.Create = func(path string, p *format.Plan, o *format.WriteOptions) (format.Writer, error) {
			f, err := os.Create(path)
			if err != nil {
				return nil, err
			}
			return (&format.Codec{Name: "toy", Encode: y.encode}).NewWriter(f, p, o)
		}
	}
	return c
}

func (y toy) detect(head []byte, _ int64) bool {
	return bytes.HasPrefix(head, []byte(toyMagic)) || y.has("detects zip") && bytes.HasPrefix(head, []byte("PK"))
}

// toyFile is an open toy model.
type toyFile struct {
	*catalog.Catalog
	toy      toy
	meta     format.Metadata
	sums     []uint32
	rec      []byte
	verifies atomic.Int32
}

func (y toy) parse(r *mapped.Region, o *format.Options) (format.Model, error) {
	f := &toyFile{toy: y}
	if y.has("reads all") {
		if _, err := r.Slice(0, r.Size()); err != nil {
			return nil, err
		}
	}
	if y.has("copies data") {
		all, _ := r.Slice(0, r.Size())
		f.rec = bytes.Clone(all)
	}
	head, err := r.Prefix(toyHeader)
	if err != nil {
		return nil, err
	}
	c := wire.NewCursor("toy", head, 0)
	if string(c.Bytes("magic", 4)) != toyMagic {
		return nil, c.Failf("magic", 0, format.ErrMagic, "not TOY1")
	}
	size, sum, tensors, entries := c.U32("size"), c.U32("checksum"), c.U32("tensors"), c.U32("entries")
	for range 12 {
		if c.U8("reserved") != 0 {
			c.Failf("reserved", c.Offset()-1, format.ErrCorrupt, "not 0")
		}
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	rec, err := r.Slice(toyHeader, int64(size))
	if err != nil && y.has("swallows read errors") {
		return nil, wire.Errorf("toy", "size", 4, format.ErrTruncated, "no records")
	}
	if err != nil {
		return nil, wire.Error("toy", "size", 4, err)
	}
	f.rec = rec
	if o.Check != format.CheckStructure && !y.has("no checksum") && crc32.ChecksumIEEE(rec) != sum {
		return nil, wire.Errorf("toy", "checksum", 8, format.ErrChecksum, "records")
	}
	if int(tensors) > o.MaxTensors && !y.has("no limit") {
		return nil, wire.Errorf("toy", "tensors", 12, format.ErrLimit, "%d tensors", tensors)
	}
	c = wire.NewCursor("toy", rec, toyHeader)
	if !y.has("trusts counts") {
		c.Count("tensors", uint64(tensors), 16)
		c.Count("entries", uint64(entries), 10)
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	f.Catalog = catalog.New(r, "toy", "1", int(tensors), len(rec), len(rec)/8)
	f.Fetch = func(i int) ([]byte, error) {
		b, err := r.Slice(f.Info(i).Offset, f.Info(i).Size)
		return bytes.Clone(b), err
	}
	f.sums = make([]uint32, 0, tensors)
	end := int64(toyHeader) + int64(size)
	for range tensors {
		if end, err = f.record(&c, r, end); err != nil {
			return nil, err
		}
	}
	for range entries {
		key := string(c.Bytes("key", uint64(c.U16("key length"))))
		f.meta = append(f.meta, format.Entry{Key: key, Value: c.I64("value")})
	}
	if c.Err() == nil && c.Left() > 0 {
		c.Failf("size", c.Offset(), format.ErrCorrupt, "bytes left over")
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	if y.has("forgets behind a reader") && !r.InMemory() {
		f.meta = nil
	}
	return f, f.checkEnd(r, end)
}

// checkEnd looks for the mark after the data.
func (f *toyFile) checkEnd(r *mapped.Region, end int64) error {
	if f.toy.has("no end") {
		return nil
	}
	mark, err := r.Slice(end, 4)
	if err != nil {
		return wire.Error("toy", "end", end, err)
	}
	if string(mark) != toyEnd || r.Size() != end+4 {
		return wire.Errorf("toy", "end", end, format.ErrCorrupt, "no end mark")
	}
	return nil
}

// record reads one tensor's record.
func (f *toyFile) record(c *wire.Cursor, r *mapped.Region, end int64) (int64, error) {
	at := c.Offset()
	t := catalog.Tensor{Name: c.Bytes("name", uint64(c.U16("name length")))}
	t.DType = tensor.DType(c.U8("dtype"))
	rank := c.U8("rank")
	c.Count("rank", uint64(rank), 8)
	if c.Err() != nil {
		return 0, c.Err()
	}
	if f.toy.has("panics") && t.DType > 100 {
		panic("toy: what is this dtype")
	}
	t.Shape = f.Dims(int(rank))
	if f.toy.has("allocates per tensor") {
		t.Shape = make(tensor.Shape, rank)
	}
	for i := range t.Shape {
		t.Shape[i] = c.I64("dim")
	}
	t.Offset = c.I64("offset")
	f.sums = append(f.sums, c.U32("sum"))
	size, err := t.Shape.ByteSize(t.DType)
	if err == nil {
		err = tensor.CheckName(string(t.Name))
	}
	if err != nil {
		return 0, c.Fail("record", at, err)
	}
	if t.Size = size; t.Offset < end || t.Offset > r.Size() || size > r.Size()-t.Offset {
		return 0, c.Failf("offset", at, format.ErrTruncated, "data at %d", t.Offset)
	}
	t.Lazy = f.toy.has("copies")
	if !f.Add(&t) {
		return 0, c.Failf("name", at, format.ErrCorrupt, "twice")
	}
	return t.Offset + size, nil
}

func (f *toyFile) Metadata() format.Metadata {
	if f.toy.has("lazy metadata") {
		sum(f.rec)
	}
	return f.meta
}

func (f *toyFile) Tensor(name string) (tensor.View, bool) {
	if f.toy.has("finds anything") && f.Len() > 0 {
		return f.At(0), true
	}
	v, ok := f.Catalog.Tensor(name)
	if ok && f.toy.has("does not hold") {
		b, err := v.Bytes()
		info := v.Info()
		return tensor.NewView(&info, careless{f.Catalog}, b), err == nil
	}
	return v, ok
}

// careless is an owner that lets Close pass.
type careless struct{ *catalog.Catalog }

func (careless) Enter() error { return nil }
func (careless) Leave()       {}

func (f *toyFile) Pin() (func(), error) {
	unpin, err := f.Catalog.Pin()
	if err == nil && f.toy.has("pins nothing") {
		unpin()
	}
	return unpin, err
}

func (f *toyFile) Verify(ctx context.Context, opts ...format.VerifyOption) error {
	o := format.NewVerifyOptions(opts)
	if f.toy.has("wears out") && f.verifies.Add(1) > 3 {
		return errors.New("worn out")
	}
	if f.toy.has("verifies closed") && f.Enter() != nil {
		return nil
	} else if !f.toy.has("verifies closed") {
		if err := f.Enter(); err != nil {
			return err
		}
	}
	defer f.Leave()
	if o.Trusted != nil && !f.toy.has("trusts anybody") {
		return wire.Errorf("toy", "signature", -1, format.ErrSignature, "unsigned")
	}
	if f.toy.has("cannot be cancelled") {
		ctx = context.WithoutCancel(ctx)
	}
	total := int64(0)
	for i := range f.Len() {
		total += f.Info(i).Size
	}
	if f.toy.has("overstates progress") {
		total++
	}
	p := work.NewProgress(o.Progress, total)
	return work.Each(ctx, f.Len(), o.Workers, func(i int) error { return f.check(ctx, i, p) })
}

// check verifies the data of tensor i.
func (f *toyFile) check(ctx context.Context, i int, p *work.Progress) error {
	info := f.Info(i)
	var sum uint32
	err := f.Region().Guard(func() error {
		b, err := f.Region().Slice(info.Offset, info.Size)
		if err != nil {
			return err
		}
		return work.Chunks(ctx, b, p, info.Name, func(b []byte) { sum = crc32.Update(sum, crc32.IEEETable, b) })
	})
	if f.toy.has("blind to faults") && errors.Is(err, format.ErrTruncated) {
		return nil
	}
	if err == nil && sum != f.sums[i] && !f.toy.has("no data checksum") {
		err = wire.Errorf("toy", fmt.Sprintf("tensor %q", info.Name), info.Offset, format.ErrChecksum, "data")
	}
	return err
}

// toyEncoder writes a toy file.
type toyEncoder struct {
	toy  toy
	t    sink.Target
	p    *format.Plan
	offs []int64
	sums []uint32
	seq  int
	end  int64
	meta format.Metadata
}

func (y toy) encode(t sink.Target, p *format.Plan, o *format.WriteOptions) (format.Encoder, error) {
	if t.Sequential() {
		return nil, wire.Error("toy", "", -1, sink.ErrSequential)
	}
	e := &toyEncoder{toy: y, t: t, p: p, offs: make([]int64, len(p.Tensors)), sums: make([]uint32, len(p.Tensors))}
	for _, m := range p.Metadata {
		if y.has("drops metadata") || strings.HasPrefix(m.Key, "sum/") && !y.has("adds again") {
			continue
		}
		e.meta = append(e.meta, m)
	}
	e.meta = append(e.meta, format.Entry{Key: "sum/tensors", Value: int64(len(p.Tensors))})
	if y.has("records the clock") {
		e.meta = append(e.meta, format.Entry{Key: "sum/time", Value: time.Now().UnixNano()})
	}
	if y.has("shows its spool") {
		e.meta = append(e.meta, format.Entry{Key: "sum/spool", Value: int64(o.Spool)})
	}
	e.end = toyHeader + int64(len(e.records()))
	for i, info := range p.Tensors {
		if y.has("misaligns") {
			e.end++
		} else {
			e.end, _ = wire.AlignUp(e.end, 64)
		}
		e.offs[i] = e.end
		e.end += info.Size
	}
	return e, nil
}

func (e *toyEncoder) records() []byte {
	var w wire.Buffer
	for i, info := range e.p.Tensors {
		w.U16(uint16(len(info.Name)))
		w.Str(info.Name)
		w.U8(uint8(info.DType))
		w.U8(uint8(len(info.Shape)))
		for _, d := range info.Shape {
			w.I64(d)
		}
		w.I64(e.offs[i])
		w.U32(e.sums[i])
	}
	for _, m := range e.meta {
		w.U16(uint16(len(m.Key)))
		w.Str(m.Key)
		w.I64(m.Value.(int64))
	}
	return w.Bytes()
}

func (e *toyEncoder) Tensor(i int, in *sink.Input) error {
	if e.seq++; e.toy.has("records arrival") && e.seq == 1 {
		e.meta[len(e.meta)-1].Value = int64(i)
	}
	h := crc32.NewIEEE()
	if err := in.CopyTo(e.t, e.offs[i], h); err != nil {
		return err
	}
	e.sums[i] = h.Sum32()
	return nil
}

func (e *toyEncoder) Finish() error {
	rec := e.records()
	var w wire.Buffer
	w.Str(toyMagic)
	w.U32(uint32(len(rec)))
	w.U32(crc32.ChecksumIEEE(rec))
	w.U32(uint32(len(e.p.Tensors)))
	w.U32(uint32(len(e.meta)))
	w.Fill(12, 0)
	w.Raw(rec)
	_, err := e.t.WriteAt(w.Bytes(), 0)
	if err == nil {
		_, err = e.t.WriteAt([]byte(toyEnd), e.end)
	}
	if e.toy.has("ignores the disk") {
		err = nil
	}
	return err
}

var _ io.Closer = (*toyFile)(nil)
