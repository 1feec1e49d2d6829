package tsr

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// fields is a TSR header with the fields of the specification, for tests that
// change one field at a time.
type fields struct {
	magic       string
	version     int32
	headerSize  int32
	reserved1   int32
	dtype       int32
	ndim        int32
	dims        [4]int32
	elements    int64
	reserved2   int64
	reserved3   int64
	data        []byte
	extra, lack int // number of bytes added and missing at the end
}

// bytes returns the file.
func (f fields) bytes() []byte {
	b := corpus.LE(f.magic, f.version, f.headerSize, f.reserved1, f.dtype, f.ndim, f.dims)
	b = append(b, corpus.LE(f.elements, f.reserved2, f.reserved3, f.data, make([]byte, f.extra))...)
	return b[:len(b)-f.lack]
}

// file returns a valid file with the given fields.
func file(dtype, ndim int32, dims [4]int32, data []byte) fields {
	n := int64(1)
	for _, d := range dims {
		n *= int64(d)
	}
	return fields{magic: "TSR!", version: 1, headerSize: 64, dtype: dtype, ndim: ndim, dims: dims, elements: n, data: data}
}

// floats, int8s and int32s return the data of n elements: 1.5, 2.5, ...; 100,
// 101, ...; and 70000, -70001, ...
func floats(n int) (b []byte) {
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i)+1.5))
	}
	return b
}

func int8s(n int) (b []byte) {
	for i := range n {
		b = append(b, byte(int8(100+i)))
	}
	return b
}

func int32s(n int) (b []byte) {
	for i := range n {
		v := int32(70000 + i)
		if i%2 == 1 {
			v = -v
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// golden lists the nine cases of the specification's test section, then INT32
// and empty tensors, whose layout the package documentation defines.
var golden = []struct {
	name  string
	dtype tensor.DType
	shape tensor.Shape
	file  fields
}{
	{"scalar FP32", tensor.Float32, nil, file(1, 0, [4]int32{1, 1, 1, 1}, floats(1))},
	{"scalar INT8", tensor.Int8, nil, file(2, 0, [4]int32{1, 1, 1, 1}, int8s(1))},
	{"1D FP32", tensor.Float32, tensor.Shape{5}, file(1, 1, [4]int32{1, 1, 1, 5}, floats(5))},
	{"2D FP32", tensor.Float32, tensor.Shape{3, 4}, file(1, 2, [4]int32{1, 1, 3, 4}, floats(12))},
	{"3D FP32", tensor.Float32, tensor.Shape{2, 3, 4}, file(1, 3, [4]int32{1, 2, 3, 4}, floats(24))},
	{"4D part FP32", tensor.Float32, tensor.Shape{1, 2, 3, 4}, file(1, 4, [4]int32{1, 2, 3, 4}, floats(24))},
	{"4D FP32", tensor.Float32, tensor.Shape{2, 3, 4, 5}, file(1, 4, [4]int32{2, 3, 4, 5}, floats(120))},
	{"2D INT8", tensor.Int8, tensor.Shape{2, 3}, file(2, 2, [4]int32{1, 1, 2, 3}, int8s(6))},
	{"4D INT8", tensor.Int8, tensor.Shape{1, 2, 3, 4}, file(2, 4, [4]int32{1, 2, 3, 4}, int8s(24))},
	{"scalar INT32", tensor.Int32, nil, file(3, 0, [4]int32{1, 1, 1, 1}, int32s(1))},
	{"1D INT32", tensor.Int32, tensor.Shape{7}, file(3, 1, [4]int32{1, 1, 1, 7}, int32s(7))},
	{"4D INT32", tensor.Int32, tensor.Shape{2, 1, 3, 2}, file(3, 4, [4]int32{2, 1, 3, 2}, int32s(12))},
	{"empty vector", tensor.Float32, tensor.Shape{0}, file(1, 1, [4]int32{1, 1, 1, 0}, nil)},
	{"empty 4D", tensor.Int8, tensor.Shape{3, 0, 2, 0}, file(2, 4, [4]int32{3, 0, 2, 0}, nil)},
	{"empty, large dims", tensor.Int32, tensor.Shape{0, math.MaxInt32, 1 << 29}, file(3, 3, [4]int32{1, 0, math.MaxInt32, 1 << 29}, nil)},
}

// sampleSchema returns a schema with one tensor, named as in a file opened from memory.
func sampleSchema(d tensor.DType, s tensor.Shape) *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{{Name: "tensor", DType: d, Shape: s}}}
}

func TestGoldenWrite(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := newWriter(&b, sampleSchema(c.dtype, c.shape), nil)
			expect.OK(t, err)
			finish(t, w, map[string][]byte{"tensor": c.file.data})
			expect.Equal(t, c.file.bytes(), b.Bytes())
		})
	}
}

// finish writes all tensors and closes the writer.
func finish(t *testing.T, w *format.Writer, data map[string][]byte) {
	t.Helper()
	defer w.Abort()
	for name, b := range data {
		expect.OK(t, w.WriteTensor(name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
}

// TestDocumentedLayout: what reads the header reads the fields of its table in doc.go, each from its place.
func TestDocumentedLayout(t *testing.T) {
	f := fields{magic: magic, version: 1, headerSize: 64, dtype: 3, ndim: 4, dims: [4]int32{5, 6, 7, 8}, elements: 9}
	r := wire.NewRecord(formatName, f.bytes(), 0)
	h := readHeader(&r)
	corpus.Documented(t, "Everything is little-endian; signed integers are two's complement.", "", &r)
	want := header{code: 3, rank: 4, dims: [4]int32{5, 6, 7, 8}, elements: 9}
	expect.Equal(t, want, h, cmp.AllowUnexported(header{}))
}
