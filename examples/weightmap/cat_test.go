package main

import (
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

// TestCatTypes writes a tensor of each dtype as numbers and as NumPy's file.
func TestCatTypes(t *testing.T) {
	for _, tt := range []struct {
		dtype    tensor.DType
		elements any
		text     string
		npy      tensor.DType
	}{
		{tensor.Float64, []float64{0.1, math.Inf(1)}, "0.1 Inf", tensor.Float64},
		{tensor.Float32, []float32{0.1, -2}, "0.1 -2", tensor.Float32},
		{tensor.Float16, []uint16{0x3c00, 0xc000}, "1 -2", tensor.Float16},
		{tensor.BFloat16, []uint16{0x3f80, 0xc000}, "1 -2", tensor.Float32},
		{tensor.Int64, []int64{math.MinInt64, math.MaxInt64}, "-9223372036854775808 9223372036854775807", tensor.Int64},
		{tensor.Int32, []int32{-1, 2}, "-1 2", tensor.Int32},
		{tensor.Int16, []int16{-1, 2}, "-1 2", tensor.Int16},
		{tensor.Int8, []int8{-1, 2}, "-1 2", tensor.Int8},
		{tensor.Uint64, []uint64{math.MaxUint64, 2}, "18446744073709551615 2", tensor.Uint64},
		{tensor.Uint32, []uint32{math.MaxUint32, 2}, "4294967295 2", tensor.Uint32},
		{tensor.Uint16, []uint16{math.MaxUint16, 2}, "65535 2", tensor.Uint16},
		{tensor.Uint8, []uint8{255, 2}, "255 2", tensor.Uint8},
		{tensor.Bool, []uint8{1, 0}, "true false", tensor.Bool},
		{tensor.Complex64, []complex64{1 - 2i, 3}, "1-2j 3+0j", tensor.Complex64},
		{tensor.Float8E4M3FN, []uint8{0x38, 0xc0}, "1 -2", tensor.Float32},
		{tensor.Float8E5M2, []uint8{0x3c, 0xc0}, "1 -2", tensor.Float32},
	} {
		t.Run(tt.dtype.String(), func(t *testing.T) {
			s := of("w", tt.dtype, tensor.Shape{1, 2}, tt.elements)
			path := save(t, "m.safetensors", schema.Schema{}, s)
			prints(t, tt.text+"\n", "cat", path, "w")
			prints(t, string(s.data), "cat", "-as", "raw", path, "w")
			want := s.data
			if tt.npy != tt.dtype {
				want = of("", 0, nil, []float32{1, -2}).data
			}
			array(t, tt.npy, tensor.Shape{1, 2}, want, path, "w")
		})
	}
}

// array compares what cat -as npy writes.
func array(t *testing.T, d tensor.DType, shape tensor.Shape, data []byte, args ...string) {
	t.Helper()
	out, _ := tool(t, 0, append([]string{"cat", "-as", "npy"}, args...)...)
	f, err := format.OpenBytes([]byte(out), &format.Options{Format: npy.Format{}})
	expect.OK(t, err)
	defer f.Close()
	got, err := f.At(0).Bytes()
	if err != nil || f.At(0).DType() != d {
		t.Errorf("%v, %v, want %v", err, f.At(0).DType(), d)
	}
	expect.Equal(t, shape, f.At(0).Shape())
	expect.Equal(t, data, got)
}

// TestCatListed: blocks are decoded, what cannot be decoded is bytes.
func TestCatListed(t *testing.T) {
	block := append([]byte{0, 0x38, 2, 0xfe}, make([]byte, 30)...) // scale 0.5; 2, -2, zeros
	path := writeListed(t, "Q8_0", 32, block)
	values := make([]float32, 32)
	values[0], values[1] = 1, -1
	prints(t, "1\n-1\n"+strings.Repeat("0\n", 30), "cat", path, "w")
	array(t, tensor.Float32, tensor.Shape{32}, floats("", values...).data, path, "w")
	prints(t, string(block), "cat", "-as", "raw", path, "w")
	for form, why := range map[string]string{"text": "cannot be sliced", "raw": "in blocks of 32"} {
		_, errs := tool(t, 1, "cat", "-as", form, "-slice", "0:8", path, "w")
		contains(t, errs, `tensor "w"`, "Q8_0", why)
	}
	prints(t, string(block), "cat", "-as", "raw", "-slice", " 0:32 ", path, "w")
	path = writeListed(t, "Q9", 2, []byte{0x21})
	prints(t, "\x21", "cat", "-as", "raw", path, "w")
	_, errs := tool(t, 1, "cat", "-as", "npy", path, "w")
	contains(t, errs, `tensor "w": unsupported: elements of type Q9 cannot be decoded; -as raw writes the bytes`)
}

// TestCatHalfBytes: the last byte of elements of a few bits may be partly used.
func TestCatHalfBytes(t *testing.T) {
	path := save(t, "m.onnx", schema.Schema{}, sample{tensor.Info{Name: "w", Encoding: lowbit.Encoding("INT4"), Shape: tensor.Shape{3}}, []byte{0x21, 0x0f}})
	prints(t, "1\n2\n-1\n", "cat", path, "w")
	array(t, tensor.Float32, tensor.Shape{3}, floats("", 1, 2, -1).data, path, "w")
	tool(t, 0, "diff", path, path)
}
