package gguf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// fields is a file as the specification describes it, for tests that set one field
// after the other.
type fields struct {
	magic    string
	version  uint32
	tensors  []info
	entries  []kv
	align    int // of the data; 0 is 32
	count    *uint64
	kvCount  *uint64
	extra    int  // bytes too many at the end
	lack     int  // bytes too few
	unpadded bool // the last tensor is not padded
}

// kv is a metadata entry; value is the bytes behind its type.
type kv struct {
	key   string
	typ   uint32
	value []byte
}

// info is a tensor; dims as in the file, innermost first.
type info struct {
	name   string
	dims   []uint64
	typ    uint32
	data   []byte
	offset *uint64 // instead of the next multiple of the alignment
	rank   *uint32 // instead of the number of dims
	length *uint64 // instead of that of the name
}

func ptr[T any](v T) *T { return &v }

// or returns what p points to, or v.
func or[T any](p *T, v T) T {
	if p != nil {
		v = *p
	}
	return v
}

func le32(v uint32) []byte   { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte   { return binary.LittleEndian.AppendUint64(nil, v) }
func f32(v float32) []byte   { return le32(math.Float32bits(v)) }
func f64(v float64) []byte   { return le64(math.Float64bits(v)) }
func str(s string) []byte    { return append(le64(uint64(len(s))), s...) }
func cat(p ...[]byte) []byte { return bytes.Join(p, nil) }

// arr is an array value.
func arr(typ uint32, elems ...[]byte) []byte {
	return cat(le32(typ), le64(uint64(len(elems))), cat(elems...))
}

func up(n, to int) int { return (n + to - 1) / to * to }

// header is everything before the data, unpadded.
func (f fields) header() []byte {
	b := append([]byte(f.magic), le32(f.version)...)
	b = cat(b, le64(or(f.count, uint64(len(f.tensors)))), le64(or(f.kvCount, uint64(len(f.entries)))))
	for _, e := range f.entries {
		b = cat(b, str(e.key), le32(e.typ), e.value)
	}
	at := 0
	for _, t := range f.tensors {
		b = cat(b, le64(or(t.length, uint64(len(t.name)))), []byte(t.name), le32(or(t.rank, uint32(len(t.dims)))))
		for _, d := range t.dims {
			b = append(b, le64(d)...)
		}
		b = cat(b, le32(t.typ), le64(or(t.offset, uint64(at))))
		at = up(at+len(t.data), f.alignment())
	}
	return b
}

func (f fields) alignment() int { return cmp.Or(f.align, 32) }

// bytes lays the file out.
func (f fields) bytes() []byte {
	b := f.header()
	b = append(b, make([]byte, up(len(b), f.alignment())-len(b))...)
	for i, t := range f.tensors {
		b = append(b, t.data...)
		if i+1 < len(f.tensors) || !f.unpadded {
			b = append(b, make([]byte, up(len(b), f.alignment())-len(b))...)
		}
	}
	b = append(b, make([]byte, f.extra)...)
	return b[:len(b)-f.lack]
}

// floats are n float32 1.5, 2.5 and so on.
func floats(n int) (b []byte) {
	for i := range n {
		b = append(b, f32(float32(i)+1.5)...)
	}
	return b
}

// small is a good file that tests break.
func small() fields {
	return fields{
		magic: "GGUF", version: 3,
		entries: []kv{
			{"general.architecture", 8, str("test")},
			{"general.alignment", 4, le32(32)},
			{"list", 9, arr(8, str("a"), str("bc"))},
		},
		tensors: []info{
			{name: "a", dims: []uint64{4, 3}, typ: 0, data: floats(12)},
			{name: "b", dims: []uint64{32, 2}, typ: 8, data: bytes.Repeat([]byte{1}, 68)},
			{name: "c", dims: []uint64{5}, typ: 24, data: []byte{1, 2, 3, 4, 5}},
		},
	}
}

func open(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := openBytes(b, nil)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// write returns the file of a schema.
func write(t testing.TB, p *schema.Schema, o *format.WriteOptions, data map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter(&out, p, o)
	expect.OK(t, err)
	defer w.Abort()
	for _, p := range p.Tensors {
		expect.OK(t, w.WriteTensor(p.Name, bytes.NewReader(data[p.Name])))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// dataOf returns the bytes of all tensors.
func dataOf(t testing.TB, f *File) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, v := range f.Tensors() {
		b, err := v.Bytes()
		expect.OK(t, err)
		all[name] = bytes.Clone(b)
	}
	return all
}

// TestHeaderBytes spells one file out byte by byte, to test the code that builds
// the other files.
func TestHeaderBytes(t *testing.T) {
	want := "GGUF" + "\x03\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\x03\x00\x00\x00\x00\x00\x00\x00" + "key" + "\x04\x00\x00\x00" + "\x07\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "l" + "\x09\x00\x00\x00" + "\x05\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		"\xff\xff\xff\xff" + "\x02\x00\x00\x00" +
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "w" + "\x02\x00\x00\x00" +
		"\x03\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x18\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"
	want += string(make([]byte, up(len(want), 32)-len(want))) + "\x01\x02\x03\x04\x05\x06"
	want += string(make([]byte, up(len(want), 32)-len(want)))
	f := fields{
		magic: "GGUF", version: 3,
		entries: []kv{{"key", 4, le32(7)}, {"l", 9, arr(5, le32(math.MaxUint32), le32(2))}},
		tensors: []info{{name: "w", dims: []uint64{3, 2}, typ: 24, data: []byte{1, 2, 3, 4, 5, 6}}},
	}
	expect.Equal(t, []byte(want), f.bytes())
	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: "key", Value: int64(7)}, {Key: "l", Value: json.RawMessage("[-1, 2]")}},
		Tensors:  []tensor.Info{{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, 3}}},
	}
	expect.Equal(t, []byte(want), write(t, s, nil, map[string][]byte{"w": {1, 2, 3, 4, 5, 6}}))
}
