package formattest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// The toy format exists to be broken. Its file is
//
//	"TOY1", u32 size of the records, u32 CRC of the records, u32 tensors, u32 metadata entries, 12 zeros
//	per tensor: u16 name length, name, u8 dtype, u8 rank, u64 dims, u64 offset, u32 CRC of the data
//	per entry: u16 key length, key, u16 value length, value as JSON
//	data, in the order of the records, each at the next multiple of 64
//	"END!" after the data
const (
	toyMagic  = "TOY1"
	toyEnd    = "END!"
	toyHeader = 32
)

// toy is the toy format with one bug, or none.
type toy struct{ bug string }

var (
	_ driver.Writer = toy{}
)

func (y toy) has(bug string) bool { return y.bug == bug }

// driver returns the driver; some bugs remove or replace methods.
func (y toy) driver() driver.Driver {
	if y.has("writes in place") {
		return toyInPlace{y}
	}
	return y
}

func (toy) Describe() driver.Description {
	return driver.Description{Name: "toy", Extensions: []string{".toy"}}
}

func (y toy) Detect(head []byte, size int64) bool {
	return bytes.HasPrefix(head, []byte(toyMagic)) ||
		y.has("detects zip") && bytes.HasPrefix(head, []byte("PK")) ||
		y.has("detects anything") && size > 100 && head[0] != 0
}

// toyFile is an open toy model.
type toyFile struct {
	toy    toy
	src    driver.Source
	x      *driver.Index
	meta   schema.Metadata
	values []int64 // offsets of the metadata's values
	sums   []uint32
	all    []byte // if the format copies everything
}

// Metadata implements driver.Parsed.
func (f *toyFile) Metadata() (schema.Metadata, error) {
	if !f.toy.has("aliases metadata") {
		return f.meta, nil
	}
	// During Parse, reads return private memory; later reads need not.
	meta := slices.Clone(f.meta)
	for i, at := range f.values {
		b, err := f.src.Slice(at, int64(len(meta[i].Value.(json.RawMessage))))
		if err != nil {
			return nil, err
		}
		meta[i].Value = json.RawMessage(b)
	}
	return meta, nil
}

// TensorSum implements driver.Parsed.
func (f *toyFile) TensorSum(i int) driver.Digest {
	if f.toy.has("no data checksum") {
		return driver.Digest{}
	}
	return driver.Digest{Kind: driver.CRC32, Want: uint64(f.sums[i])}
}

func (y toy) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	f := &toyFile{toy: y, src: src, x: x}
	x.Version = "1"
	if y.has("reads all") || y.has("copies data") {
		all, err := src.Slice(0, src.Size())
		if err != nil {
			return nil, err
		}
		f.all = bytes.Clone(all)
	}
	head, err := driver.Prefix(src, toyHeader)
	if err != nil {
		return nil, err
	}
	c := wire.NewRecord("toy", head, 0)
	if string(c.Bytes("magic", 4)) != toyMagic {
		return nil, refuse(&c, "magic", 0, tensor.ErrMagic, "not TOY1")
	}
	size, sum, tensors, entries := c.U32("size"), c.U32("checksum"), c.U32("tensors"), c.U32("entries")
	for range 12 {
		if c.U8("reserved") != 0 {
			c.Bad(tensor.ErrCorrupt, "not 0")
		}
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	rec, err := src.Slice(toyHeader, int64(size))
	if err != nil && y.has("swallows read errors") {
		return nil, wire.Errorf("toy", "size", 4, tensor.ErrTruncated, "no records")
	}
	if err != nil {
		return nil, wire.Error("toy", "size", 4, err)
	}
	if o.CheckSums && !y.has("no checksum") && crc32.ChecksumIEEE(rec) != sum {
		return nil, wire.Errorf("toy", "checksum", 8, tensor.ErrChecksum, "records")
	}
	c = wire.NewRecord("toy", rec, toyHeader)
	if !y.has("trusts counts") {
		c.Fits("tensors", uint64(tensors), 16)
		c.Fits("entries", uint64(entries), 4)
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	if err := f.parse(&c, int(tensors), int(entries)); err != nil {
		return nil, err
	}
	return f.withBug(), nil
}

// parse reads the records.
func (f *toyFile) parse(c *wire.Record, tensors, entries int) error {
	f.x.Grow(tensors, int(c.Left()), int(c.Left()/8))
	f.sums = make([]uint32, 0, tensors)
	end, err := c.Offset()+c.Left(), error(nil)
	for range tensors {
		if end, err = f.record(c, end); err != nil {
			return err
		}
	}
	for range entries {
		key := string(c.Bytes("key", uint64(c.U16("key length"))))
		value := json.RawMessage(bytes.Clone(c.Bytes("value", uint64(c.U16("value length")))))
		f.values = append(f.values, c.Offset()-int64(len(value)))
		f.meta = append(f.meta, schema.Entry{Key: key, Value: value})
	}
	if c.Err() == nil && c.Left() > 0 {
		refuse(c, "size", c.Offset(), tensor.ErrCorrupt, "bytes left over")
	}
	if c.Err() != nil {
		return c.Err()
	}
	if f.toy.has("forgets where there is no path") && f.src.Path() == "" {
		f.meta = nil
	}
	if f.toy.has("has a phantom") {
		f.x.Add(&driver.Tensor{Name: []byte("0 "), DType: tensor.Int8, Shape: tensor.Shape{0}})
		f.sums = append(f.sums, 0)
	}
	return f.checkEnd(end)
}

// refuse records the error of a field at an offset and returns the first one.
func refuse(r *wire.Record, field string, at int64, sentinel error, text string, args ...any) error {
	r.Fail(field, at, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
	return r.Err()
}

// checkEnd checks the mark after the data.
func (f *toyFile) checkEnd(end int64) error {
	if f.toy.has("no end") || f.toy.has("accepts overlap") {
		return nil
	}
	mark, err := f.src.Slice(end, 4)
	if err != nil {
		return wire.Error("toy", "end", end, err)
	}
	if string(mark) != toyEnd || f.src.Size() != end+4 && !f.toy.has("accepts more") {
		return wire.Errorf("toy", "end", end, tensor.ErrCorrupt, "no end mark, or bytes after it")
	}
	return nil
}

// record parses a tensor's record. end is the end of the previous tensor's data.
func (f *toyFile) record(c *wire.Record, end int64) (int64, error) {
	c.Begin()
	at := c.Offset()
	t := driver.Tensor{Name: c.Bytes("name", uint64(c.U16("name length")))}
	t.DType = tensor.DType(c.U8("dtype"))
	rank := c.U8("rank")
	c.Fits("rank", uint64(rank), 8)
	if c.Err() != nil {
		return 0, c.Err()
	}
	if f.toy.has("panics") && t.DType > 100 {
		panic("toy: what is this dtype")
	}
	t.Shape = f.x.Dims(int(rank))
	for i := range t.Shape {
		t.Shape[i] = c.I64("dim")
	}
	t.Offset = c.I64("offset")
	f.sums = append(f.sums, c.U32("sum"))
	size, err := t.Shape.ByteSize(t.DType)
	if err != nil || c.Err() != nil {
		c.Fail("record", at, err)
		return 0, c.Err()
	}
	if err := f.checkName(t.Name); err != nil {
		c.Fail("name", at, err)
		return 0, c.Err()
	}
	t.Size = size
	t.Loaded = f.toy.has("copies") || f.toy.has("streams zeros")
	if err := f.checkPlace(c, &t, at, end); err != nil {
		return 0, err
	}
	if f.x.Add(&t) != nil {
		if f.toy.has("drops duplicates") {
			f.sums = f.sums[:len(f.sums)-1]
			return t.Offset + size, nil
		}
		return 0, refuse(c, "name", at, tensor.ErrCorrupt, "twice")
	}
	return t.Offset + size, nil
}

func (f *toyFile) checkName(name []byte) error {
	if f.toy.has("allocates per name") {
		return tensor.CheckName(string(name))
	}
	return driver.CheckName(name)
}

// checkPlace checks the offset of a tensor.
func (f *toyFile) checkPlace(c *wire.Record, t *driver.Tensor, at, end int64) error {
	next := (end + 63) &^ 63
	switch {
	case t.Offset < 0 || t.Offset > f.src.Size() || t.Size > f.src.Size()-t.Offset:
		return refuse(c, "offset", at, tensor.ErrTruncated, "data at %d", t.Offset)
	case t.Offset < next && !f.toy.has("misaligns") && !f.toy.has("accepts overlap"):
		return refuse(c, "offset", at, tensor.ErrCorrupt, "data at %d, before %d", t.Offset, next)
	case t.Offset > next:
		return refuse(c, "offset", at, tensor.ErrCorrupt, "data at %d, after %d", t.Offset, next)
	}
	return nil
}

// withBug returns f as a driver.Parsed, with functions replaced by the bug.
func (f *toyFile) withBug() *driver.Parsed {
	p := &driver.Parsed{Own: f, LazyMetadata: f.Metadata, TensorSum: f.TensorSum}
	switch f.toy.bug {
	case "copies":
		p.Load = (&toyLoader{f}).Load
	case "streams zeros":
		p.Load = (&toyLoader{f}).Load
		p.Stream = func(i int, w io.Writer) error {
			_, err := w.Write(make([]byte, f.x.Size(i)))
			return err
		}
	case "covers others":
		p.TensorSum = nil
		p.Sums = f.dataSums
		p.SumsOf = func(i int) (from, to int) {
			next := (i + 1) % f.x.Len()
			return next, next + 1
		}
	case "trusts anybody":
		p.Authenticate = func(driver.Verification) error { return nil }
	case "overstates progress":
		p.Sums = blind("records", 1)
	case "covers blindly":
		p.Sums = blind("data", 0)
		p.SumsOf = func(int) (from, to int) { return 0, 1 }
		p.TensorSum = nil
	}
	return p
}

// dataSums declares the checksum of each tensor.
func (f *toyFile) dataSums() []driver.Sum {
	var list []driver.Sum
	for i := range f.x.Len() {
		_, off, size := f.x.Place(i)
		list = append(list, driver.Sum{
			Name:   f.x.Name(i),
			Accept: []driver.Digest{{Kind: driver.CRC32, Want: uint64(f.sums[i])}},
			Ranges: []driver.Range{{Offset: off, Size: size}},
		})
	}
	return list
}

// blind declares a part that is never looked at, and the number of bytes that this counts.
func blind(part string, size int64) func() []driver.Sum {
	check := func(driver.Verification) error { return nil }
	return func() []driver.Sum {
		return []driver.Sum{{Name: part, By: "crc32", Check: check, Size: size}}
	}
}

// toyLoader loads every tensor into memory, without views.
type toyLoader struct{ *toyFile }

func (f *toyLoader) Load(i int) ([]byte, error) {
	_, off, size := f.x.Place(i)
	b := make([]byte, size)
	_, err := f.src.ReadAt(b, off)
	return b, err
}

// toyInPlace overwrites the old file before the new one is complete.
type toyInPlace struct{ toy }

func (y toyInPlace) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	return &driver.Layout{Encode: func(t driver.Target) (driver.Encoder, error) {
		if o.Path == "" {
			return y.encode(t, p, o)
		}
		f, err := os.Create(o.Path)
		if err != nil {
			return nil, err
		}
		return y.encode(inPlace{t, f}, p, o)
	}}, nil
}

type inPlace struct {
	driver.Target
	file *os.File
}

func (i inPlace) WriteAt(p []byte, off int64) (int, error) {
	if n, err := i.file.WriteAt(p, off); err != nil {
		return n, err
	}
	return i.Target.WriteAt(p, off)
}

// toyEncoder writes a toy file.
type toyEncoder struct {
	toy  toy
	t    driver.Target
	p    *schema.Schema
	offs []int64
	sums []uint32
	seq  int
	end  int64
	meta schema.Metadata
}

func (toy) Losses(*schema.Schema, *driver.LayoutOptions, *schema.LossList) error { return nil }

func (y toy) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	return &driver.Layout{Encode: func(t driver.Target) (driver.Encoder, error) { return y.encode(t, p, o) }}, nil
}

func (y toy) encode(t driver.Target, p *schema.Schema, o *driver.LayoutOptions) (driver.Encoder, error) {
	if t.Sequential() {
		return nil, wire.Error("toy", "", -1, driver.ErrSequential)
	}
	if y.has(leavesGoroutine) {
		go func() { select {} }()
	}
	e := &toyEncoder{toy: y, t: t, p: p, offs: make([]int64, len(p.Tensors)), sums: make([]uint32, len(p.Tensors))}
	for _, m := range p.Metadata {
		if y.has("drops metadata") || strings.HasPrefix(m.Key, "sum/") && !y.has("adds again") {
			continue
		}
		e.meta = append(e.meta, m)
	}
	e.add("sum/tensors", int64(len(p.Tensors)))
	if y.has("records the clock") {
		e.add("sum/time", time.Now().UnixNano())
	}
	if y.has("shows its target") {
		e.add("sum/path", int64(len(o.Path)))
	}
	e.end = toyHeader + int64(len(e.records()))
	for i, info := range p.Tensors {
		if y.has("misaligns") {
			e.end = (e.end+63)&^63 - 1
		} else {
			e.end = (e.end + 63) &^ 63
		}
		e.offs[i] = e.end
		e.end += info.Size
	}
	return e, nil
}

func (e *toyEncoder) add(key string, value int64) {
	// All numbers have the same length, so the layout does not depend on them.
	e.meta = append(e.meta, schema.Entry{Key: key, Value: json.RawMessage(fmt.Sprintf("%20d", value))})
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
		value := m.Value.(json.RawMessage)
		w.U16(uint16(len(value)))
		w.Raw(value)
	}
	return w
}

func (e *toyEncoder) Tensor(i int, in driver.Input) error {
	if e.seq++; e.toy.has("records arrival") && e.seq == 1 {
		e.meta = e.meta[:len(e.meta)-1]
		e.add("sum/tensors", int64(i))
	}
	h := crc32.NewIEEE()
	if err := in.CopyTo(e.t, e.offs[i], h); err != nil {
		return err
	}
	e.sums[i] = h.Sum32()
	return nil
}

func (e *toyEncoder) Finish() error {
	_, err := e.t.WriteAt(toyHead(e.records(), len(e.p.Tensors), len(e.meta)), 0)
	if err == nil {
		_, err = e.t.WriteAt([]byte(toyEnd), e.end)
	}
	if e.toy.has("ignores the disk") {
		err = nil
	}
	return err
}

// toyHead returns the header and the records.
func toyHead(rec []byte, tensors, entries int) []byte {
	var w wire.Buffer
	w.Str(toyMagic)
	w.U32(uint32(len(rec)))
	w.U32(crc32.ChecksumIEEE(rec))
	w.U32(uint32(tensors))
	w.U32(uint32(entries))
	w.Zeros(12)
	w.Raw(rec)
	return w
}
