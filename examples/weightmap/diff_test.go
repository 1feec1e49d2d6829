package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// writeListed writes a vector "w" whose elements are no dtype: Q8_0 in a GGUF file, all
// others in a safetensors file.
func writeListed(t *testing.T, kind string, n uint64, data []byte) string {
	t.Helper()
	order := binary.LittleEndian
	head := fmt.Sprintf(`{"w":{"dtype":%q,"shape":[%d],"data_offsets":[0,%d]}}`, kind, n, len(data))
	file, b := "m.safetensors", append(order.AppendUint64(nil, uint64(len(head))), head...)
	if kind == "Q8_0" {
		file, b = "m.gguf", order.AppendUint32([]byte("GGUF"), 3)
		for _, count := range []uint64{1, 0, 1} { // tensors, metadata, length of the name
			b = order.AppendUint64(b, count)
		}
		b = order.AppendUint64(order.AppendUint32(append(b, 'w'), 1), n)
		b = order.AppendUint64(order.AppendUint32(b, 8), 0) // type, offset
		b = append(b, make([]byte, -len(b)&31)...)
		data = append(data, make([]byte, -len(data)&31)...)
	}
	path := filepath.Join(t.TempDir(), file)
	expect.OK(t, os.WriteFile(path, append(b, data...), 0o666))
	return path
}

var (
	nan, inf = float32(math.NaN()), float32(math.Inf(1))
	zero     = float32(math.Copysign(0, -1))
	oddNaN   = math.Float32frombits(0x7fc00001)
)

// TestDiffTensors compares models of one or two tensors; the table is what stands
// behind the names of the two files.
func TestDiffTensors(t *testing.T) {
	scaled := func(scale float32) sample {
		return of("scaled", tensor.Int8, tensor.Shape{2}, []int8{1, -2}).quantized(&tensor.Quantization{Scales: []float32{scale}, Axis: tensor.PerTensor})
	}
	far := func(n int64) sample { return of("far", tensor.Int64, tensor.Shape{1}, []int64{n}) }
	for _, tt := range []struct {
		name   string
		a, b   []sample
		args   []string
		status int
		want   string
	}{
		{"equal", []sample{floats("w", 1, 2), floats("v", 3)}, []sample{floats("v", 3), floats("w", 1, 2)}, nil, 0,
			"\nequal: 2 tensors, metadata and graph\n"},
		{"equal values", []sample{floats("w", 0, nan, inf)}, []sample{floats("w", zero, oddNaN, inf)}, nil, 0,
			"\nequal: 1 tensor, metadata and graph; 1 tensor equal in value, not in bits\n"},
		{"within the tolerance", []sample{floats("w", 1, 2)}, []sample{floats("w", 1.5, 2)}, []string{"-tolerance", "0.5"}, 0,
			"\nequal: 1 tensor, metadata and graph; 1 tensor equal within the tolerance\n"},
		{"NaN on one side is no tolerance's", []sample{floats("w", nan, 1, nan)}, []sample{floats("w", 1, nan, nan)}, []string{"-tolerance", "inf"}, 1, `
NAME  DIFFERS  A           B                  VALUES  MAX  MEAN    COSINE  NMSE
w     data     float32[3]  float32[3]  2 of 3, 2 NaN    0     0  1.000000     0

1 tensor differs
`},
		{"differences", []sample{
			floats("data", 1, 2, 2), floats("x", 1), floats("shape", 1, 2), floats("dtype", 1, 2), far(math.MaxInt64), scaled(0.5), floats("same", 1),
		}, []sample{
			floats("data", 1.5, 2, 2), floats("y", 1, 2), of("shape", tensor.Float32, tensor.Shape{2, 1}, []float32{1, 2}),
			of("dtype", tensor.Int8, tensor.Shape{2}, []int8{1, 3}), far(math.MinInt64), scaled(1), floats("same", 1),
		}, []string{"-tolerance", "0.25"}, 1, `
NAME    DIFFERS             A           B             VALUES        MAX       MEAN     COSINE    NMSE  SATURATED
x       only in A           float32[1]
shape   shape               float32[2]  float32[2,1]
y       only in B                       float32[2]
far     data                int64[1]    int64[1]      1 of 1  1.845e+19  1.845e+19  -1.000000       4          -
scaled  quantization, data  int8[2]     int8[2]       2 of 2          1       0.75   1.000000       1     0.00 %
dtype   dtype, data         float32[2]  int8[2]       1 of 2          1        0.5   0.989949     0.2          -
data    data                float32[3]  float32[3]    1 of 3        0.5     0.1667   0.989100  0.0278          -

7 tensors differ
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := save(t, "a.wia", schema.Schema{}, tt.a...), save(t, "b.wia", schema.Schema{}, tt.b...)
			out, errs := tool(t, tt.status, append(append([]string{"diff"}, tt.args...), a, b)...)
			head, rest, _ := strings.Cut(out, "\nB  "+b+": wia 1.")
			_, rest, _ = strings.Cut(rest, "\n")
			if diff := cmp.Diff(tt.want, rest); diff != "" || !strings.HasPrefix(head, "A  "+a+": wia 1.") {
				t.Errorf("%q (-want +got):\n%s", head, diff)
			}
			if errs != "" {
				t.Errorf("standard error: %s", errs)
			}
		})
	}
}

// TestDiffQuantized: errors by tensor and by layer, the largest first, and how many integers are at the limits of their
// type: -128, -127 and 127 without a zero point, and -128 and 127 with one.
func TestDiffQuantized(t *testing.T) {
	integers := func(name string, zero int32, values ...int8) sample {
		q := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}}
		if zero != 0 {
			q.ZeroPoints = []int32{zero}
		}
		return of(name, tensor.Int8, tensor.Shape{int64(len(values))}, values).quantized(q)
	}
	a := save(t, "a.wia", schema.Schema{}, floats("l.0.a", 1, 1), floats("l.0.b", 64, 64, 64, 64), floats("l.1.a", 1, 2), floats("head", 4, 4, 4, 4))
	b := save(t, "b.wia", schema.Schema{}, integers("l.0.a", 0, 2, 4), integers("l.0.b", 0, 127, 127, -127, 5), floats("l.1.a", 1, 4), integers("head", 1, 127, -127, 9, 9))
	out, _ := tool(t, 1, "diff", a, b)
	_, out, _ = strings.Cut(out, "\n\n")
	want := `NAME   DIFFERS                    A           B           VALUES    MAX   MEAN    COSINE  NMSE  SATURATED
head   dtype, quantization, data  float32[4]  int8[4]     2 of 4     68  31.75  0.038896   127    25.00 %
l.0.b  dtype, quantization, data  float32[4]  int8[4]     4 of 4  127.5   47.5  0.299963  1.22    75.00 %
l.1.a  data                       float32[2]  float32[2]  1 of 2      2      1  0.976187   0.8          -
l.0.a  dtype, quantization, data  float32[2]  int8[2]     1 of 2      1    0.5  0.948683   0.5     0.00 %

LAYER  TENSORS    MAX    COSINE  NMSE  SATURATED
head         1     68  0.038896   127    25.00 %
l.0          2  127.5  0.300096  1.22    50.00 %
l.1          1      2  0.976187   0.8          -

4 tensors differ
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out, _ = tool(t, 1, "diff", "-json", a, b)
	contains(t, out, `"nmse":0.5,"saturated_b":0}}],"layers":[{"name":"head","tensors":1,"values":{"differ":2,`, `"name":"l.0","tensors":2,`)
}

// TestDiffTypes: what not every format holds. Complex numbers are pairs, blocks are
// decoded, and elements of unknown types are compared as bytes.
func TestDiffTypes(t *testing.T) {
	complexes := func(values ...complex64) sample {
		return of("w", tensor.Complex64, tensor.Shape{int64(len(values))}, values)
	}
	out, _ := tool(t, 1, "diff", save(t, "a.npz", schema.Schema{}, complexes(1+2i, 3)), save(t, "b.npz", schema.Schema{}, complexes(1+4i, 3)))
	contains(t, out, "\nw     data     complex64[2]  complex64[2]  1 of 4    2   0.5  0.943456  0.286\n")
	out, _ = tool(t, 1, "diff", save(t, "a.npz", schema.Schema{}, complexes(1, 2)), save(t, "b.npz", schema.Schema{}, floats("w", 1, 2)))
	contains(t, out, "\nw     dtype    complex64[2]  float32[2]\n")

	large := func(x float64) sample { return of("w", tensor.Float64, tensor.Shape{1}, []float64{x}) }
	out, _ = tool(t, 1, "diff", save(t, "a.npz", schema.Schema{}, large(1e200)), save(t, "b.npz", schema.Schema{}, large(3e200)))
	contains(t, out, "  1 of 1  2e+200  2e+200       -     -\n")

	blocks := func(scale uint16, first int8) string {
		return writeListed(t, "Q8_0", 32, append(binary.LittleEndian.AppendUint16(nil, scale), append([]byte{byte(first)}, make([]byte, 31)...)...))
	}
	one, half := uint16(0x3c00), uint16(0x3800)
	out, _ = tool(t, 1, "diff", blocks(one, 2), blocks(one, 3))
	contains(t, out, "\nw     data     Q8_0[32]  Q8_0[32]  1 of 32    1  0.03125  1.000000  0.25\n")
	out, _ = tool(t, 0, "diff", blocks(one, 2), blocks(half, 4))
	contains(t, out, "\nequal: 1 tensor, metadata and graph; 1 tensor equal in value, not in bits\n")
	out, _ = tool(t, 1, "diff", blocks(one, 2), save(t, "b.gguf", schema.Schema{}, floats("w", make([]float32, 32)...)))
	contains(t, out, "\nw     dtype, data  Q8_0[32]  float32[32]  1 of 32    2  0.0625  0.000000     1\n")

	f4 := func(b byte) string { return writeListed(t, "Q9", 2, []byte{b}) }
	tool(t, 0, "diff", f4(0x21), f4(0x21))
	out, _ = tool(t, 1, "diff", f4(0x21), f4(0x31))
	contains(t, out, "\nNAME  DIFFERS  A      B\nw     data     Q9[2]  Q9[2]\n")
}

// TestDiffStreams: tensors that are decoded while they are compared give what plain ones give.
func TestDiffStreams(t *testing.T) {
	quantized := &tensor.Quantization{Scales: make([]float32, 300), ZeroPoints: make([]int32, 300), Axis: 0}
	for i := range quantized.Scales {
		quantized.Scales[i] = float32(i+1) / 8
		quantized.ZeroPoints[i] = int32(i % 5)
	}
	p := schema.Schema{Tensors: []tensor.Info{
		{Name: "real", DType: tensor.Float32, Shape: tensor.Shape{300, 400}},
		{Name: "whole", DType: tensor.Int64, Shape: tensor.Shape{300, 400}},
		{Name: "complex", DType: tensor.Complex64, Shape: tensor.Shape{300, 400}},
		{Name: "channels", DType: tensor.Int8, Shape: tensor.Shape{300, 400}, Quant: quantized},
		{Name: "same", DType: tensor.Int8, Shape: tensor.Shape{300, 400}},
		{Name: "scalar", DType: tensor.Float32},
	}}
	var want string
	for _, method := range []string{"", "zstd", "gzip"} {
		t.Chdir(t.TempDir())
		for k, path := range []string{"a.wia", "b.wia"} {
			w, err := format.Create(path, &p, &format.WriteOptions{Compression: method})
			expect.OK(t, err)
			for _, info := range p.Tensors {
				size, err := info.ByteSize()
				expect.OK(t, err)
				b := make([]byte, size)
				for i := range b {
					b[i] = byte(i % 61)
				}
				if info.Name != "same" {
					b[size-size/3&^7-1] += byte(k)
				}
				expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(b)))
			}
			expect.OK(t, w.Close())
		}
		out, errs := tool(t, 1, "diff", "-json", "a.wia", "b.wia")
		expect.Equal(t, "", errs)
		if method == "" {
			want = out
			contains(t, out, `"name":"channels"`)
		}
		expect.Equal(t, want, out)
	}
}

// TestDiffSections: tensors that are compressed as one section are compared like plain ones, also those in another order.
func TestDiffSections(t *testing.T) {
	t.Chdir(t.TempDir())
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	write := func(path, method string, names []string, seed int) {
		p := &schema.Schema{}
		for _, name := range names {
			p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{90, 1000}})
		}
		w, err := format.Create(path, p, &format.WriteOptions{Compression: method})
		expect.OK(t, err)
		for _, name := range names {
			b := make([]byte, 4*90*1000)
			for i := range b {
				b[i] = byte(i % 61)
			}
			if name != "c" {
				b[len(b)/2] += byte(seed * int(name[0]))
			}
			expect.OK(t, w.WriteTensor(name, bytes.NewReader(b)))
		}
		expect.OK(t, w.Close())
	}
	reversed := slices.Clone(names)
	slices.Reverse(reversed)
	write("plain.mle", "", names, 0)
	write("other.mle", "", names, 1)
	differ, _ := tool(t, 1, "diff", "-json", "plain.mle", "other.mle")
	for _, method := range []string{"zstd", "lz4", "brotli"} {
		write("a.mle", method, names, 0)
		write("b.mle", method, names, 1)
		write("reversed.mle", method, reversed, 1)
		tool(t, 0, "diff", "plain.mle", "a.mle")
		for _, pair := range [][2]string{{"a.mle", "b.mle"}, {"plain.mle", "b.mle"}, {"a.mle", "reversed.mle"}} {
			got, errs := tool(t, 1, "diff", "-json", pair[0], pair[1])
			expect.Equal(t, "", errs)
			want := strings.NewReplacer("plain.mle", pair[0], "other.mle", pair[1]).Replace(differ)
			expect.Equal(t, want, got)
		}
	}
}

// TestDiffDeflated: a deflated entry of an archive is compared as it is inflated, and its checksum is compared too.
func TestDiffDeflated(t *testing.T) {
	t.Chdir(t.TempDir())
	numbers := make([]byte, 4*300_000)
	for i := range numbers {
		numbers[i] = byte(i % 61)
	}
	write := func(path string, method uint16, last byte) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		e, err := w.CreateHeader(&zip.FileHeader{Name: "w.npy", Method: method})
		expect.OK(t, err)
		header := "{'descr': '<f4', 'fortran_order': False, 'shape': (300000,), }"
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		numbers[len(numbers)-1] = last
		_, err = io.WriteString(e, "\x93NUMPY\x01\x00"+string(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))+header+string(numbers))
		expect.OK(t, err)
		expect.OK(t, w.Close())
		expect.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
	}
	write("stored.npz", zip.Store, 1)
	write("deflated.npz", zip.Deflate, 1)
	write("other.npz", zip.Deflate, 2)
	tool(t, 0, "diff", "stored.npz", "deflated.npz")
	tool(t, 0, "diff", "deflated.npz", "deflated.npz")
	out, _ := tool(t, 1, "diff", "deflated.npz", "other.npz")
	contains(t, out, "1 of 300,000")
	damagedFile := expect.Read(t, "deflated.npz")
	for at := 0; at+4 <= len(damagedFile); at++ { // both records of the CRC-32
		if bytes.HasPrefix(damagedFile[at:], []byte("PK\x01\x02")) {
			damagedFile[at+16] ^= 1
		}
		if bytes.HasPrefix(damagedFile[at:], []byte("PK\x07\x08")) {
			damagedFile[at+4] ^= 1
		}
	}
	expect.OK(t, os.WriteFile("damaged.npz", damagedFile, 0o666))
	_, errs := tool(t, 1, "diff", "stored.npz", "damaged.npz")
	contains(t, errs, "checksum mismatch")
}
