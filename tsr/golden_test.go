package tsr

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
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
	b := []byte(f.magic)
	for _, v := range append([]int32{f.version, f.headerSize, f.reserved1, f.dtype, f.ndim}, f.dims[:]...) {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range []int64{f.elements, f.reserved2, f.reserved3} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	b = append(b, f.data...)
	b = append(b, make([]byte, f.extra)...)
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

// plan returns a plan with one tensor, named as in a file opened from memory.
func plan(d tensor.DType, s tensor.Shape) *format.Plan {
	return &format.Plan{Tensors: []tensor.Info{{Name: "tensor", DType: d, Shape: s}}}
}

// TestHeaderBytes compares a header with its literal bytes, to check the test
// code that builds the others.
func TestHeaderBytes(t *testing.T) {
	want := []byte("TSR!" + "\x01\x00\x00\x00" + "\x40\x00\x00\x00" + "\x00\x00\x00\x00" +
		"\x01\x00\x00\x00" + "\x02\x00\x00\x00" +
		"\x01\x00\x00\x00" + "\x01\x00\x00\x00" + "\x01\x00\x00\x00" + "\x02\x00\x00\x00" +
		"\x02\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\xc0\x3f" + "\x00\x00\x20\x40")
	if diff := cmp.Diff(want, file(1, 2, [4]int32{1, 1, 1, 2}, floats(2)).bytes()); diff != "" {
		t.Error(diff)
	}
}

func TestGoldenRead(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			f, err := OpenBytes(c.file.bytes(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Format() != "tsr" || f.Version() != "1" || f.Len() != 1 || f.Metadata() != nil || f.Notes() != nil {
				t.Errorf("%s %s, %d tensors, %v, %q", f.Format(), f.Version(), f.Len(), f.Metadata(), f.Notes())
			}
			v, err := f.Tensor("tensor")
			if err != nil {
				t.Fatal(err)
			}
			size := int64(len(c.file.data))
			shape := append(tensor.Shape{}, c.shape...)
			if diff := cmp.Diff(tensor.Info{Name: "tensor", DType: c.dtype, Shape: shape, Offset: 64, Size: size, Stored: size}, v.Info()); diff != "" {
				t.Error(diff)
			}
			got := make([]byte, size)
			if _, err := v.ReadInto(got); err != nil || !bytes.Equal(got, c.file.data) {
				t.Errorf("data % x, %v", got, err)
			}
			if _, err := f.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGoldenWrite(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := NewWriter(&b, plan(c.dtype, c.shape), nil)
			if err != nil {
				t.Fatal(err)
			}
			finish(t, w, map[string][]byte{"tensor": c.file.data})
			if diff := cmp.Diff(c.file.bytes(), b.Bytes()); diff != "" {
				t.Errorf("stream: %s", diff)
			}
			path := filepath.Join(t.TempDir(), "w.tsr")
			if w, err = Create(path, plan(c.dtype, c.shape), nil); err != nil {
				t.Fatal(err)
			}
			finish(t, w, map[string][]byte{"tensor": c.file.data})
			got, err := os.ReadFile(path)
			if diff := cmp.Diff(c.file.bytes(), got); diff != "" || err != nil {
				t.Errorf("file: %s, %v", diff, err)
			}
		})
	}
}

// finish writes all tensors and closes the writer.
func finish(t *testing.T, w *format.Writer, data map[string][]byte) {
	t.Helper()
	defer w.Abort()
	for name, b := range data {
		if err := w.WriteTensor(name, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestInterop reads a file from another implementation.
func TestInterop(t *testing.T) {
	path := filepath.FromSlash("../../shared/interop/tsr/test_labels.tsr")
	if _, err := os.Stat(path); err != nil {
		t.Skip("the file of the other implementation is not here: ", err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := f.Tensor("test_labels")
	if err != nil || v.DType() != tensor.Int32 || !v.Shape().Equal(tensor.Shape{10000}) || v.ZeroCopy() != testhost.AsHost(4) {
		t.Fatalf("%v: %+v", err, v.Info())
	}
	labels, err := tensor.Decode[int32](nil, v)
	if err != nil {
		t.Fatal(err)
	}
	// The labels of the MNIST test set begin with these, and are digits.
	if diff := cmp.Diff([]int32{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}, labels[:10]); diff != "" {
		t.Error(diff)
	}
	for i, l := range labels {
		if l < 0 || l > 9 {
			t.Fatalf("label %d is %d", i, l)
		}
	}
	if _, err := f.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, plan(tensor.Int32, tensor.Shape{10000}), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := v.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	finish(t, w, map[string][]byte{"tensor": raw})
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, b.Bytes()) {
		t.Errorf("written again it differs (%v)", err)
	}
}

func TestTypeName(t *testing.T) {
	want := map[tensor.DType]string{tensor.Float32: "FP32", tensor.Int8: "INT8", tensor.Int32: "INT32", tensor.Float16: "", tensor.Invalid: ""}
	got := map[tensor.DType]string{}
	for d := range want {
		got[d] = TypeName(d)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
