package quant_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// e4m3 lists the values of F8_E4M3, which the tests of package tensor compare with their definition.
var e4m3 = func() []float64 {
	all := make([]byte, 256)
	for b := range all {
		all[b] = byte(b)
	}
	v, _ := tensor.FromBytes("all", tensor.Float8E4M3FN, tensor.Shape{256}, all)
	values, _ := tensor.Decode[float64](nil, v)
	return values
}()

// e2m1 has the magnitudes of FP4.
var e2m1 = [8]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}

// same compares numbers bit for bit, but for which NaN it is. Comparing them all by cmp takes minutes.
func same(t *testing.T, what string, want, got []float32) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, x := range want {
		if math.Float32bits(x) != math.Float32bits(got[i]) && !(x != x && got[i] != got[i]) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], x)
		}
	}
}

// random returns n bytes of which each pattern is likely.
func random(r *rand.Rand, n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// floats returns scales over the whole range of float32, extremes among them.
func floats(r *rand.Rand, n int64) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(math.Ldexp(1+r.Float64(), r.IntN(276)-149))
		switch r.IntN(20) {
		case 0:
			s[i] = math.MaxFloat32
		case 1:
			s[i] = math.SmallestNonzeroFloat32
		case 2:
			s[i] = 0
		}
	}
	return s
}

func littleEndian(s []float32) []byte {
	b := make([]byte, 4*len(s))
	_ = tensor.Encode(b, tensor.Float32, s)
	return b
}

func view(t *testing.T, name string, d tensor.DType, shape tensor.Shape, data []byte) tensor.View {
	t.Helper()
	v, err := tensor.FromBytes(name, d, shape, data)
	expect.OK(t, err)
	return v
}

// product returns how many elements a shape has.
func product(s tensor.Shape) int64 {
	n, _ := s.Elems()
	return n
}

// compare reads the view in every way.
func compare(t *testing.T, r *rand.Rand, want []float32, v tensor.View) {
	t.Helper()
	got, err := tensor.Decode[float32](nil, v)
	expect.OK(t, err)
	same(t, "Decode", want, got)
	for range 20 {
		first := r.Int64N(int64(len(want)) + 1)
		n := r.Int64N(int64(len(want)) - first + 1)
		part, wide := make([]float32, n), make([]float64, n)
		expect.OK(t, errors.Join(tensor.DecodeAt(part, v, first), tensor.DecodeAt(wide, v, first)))
		same(t, fmt.Sprintf("DecodeAt from %d on", first), want[first:first+n], part)
		for i, x := range wide {
			if y := float64(part[i]); x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
				t.Fatalf("element %d is %v as float64, %v as float32", first+int64(i), x, y)
			}
		}
	}
	// NaNs have whatever bits, so bytes are compared with those of the view.
	raw, err := v.Bytes()
	expect.OK(t, err)
	for range 10 {
		off := r.Int64N(int64(len(raw)) + 1)
		p := make([]byte, r.Int64N(int64(len(raw))-off+1))
		if _, err := v.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(raw[off:off+int64(len(p))], p) {
			t.Fatalf("%d bytes at %d of the view differ", len(p), off)
		}
	}
}

// TestBlocks: FP8 with a scale for each 128x128 elements, in shapes with partial blocks.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := []tensor.Shape{{1, 1}, {128, 128}, {129, 127}, {200, 300}, {3, 130, 129}, {2, 2, 1, 257}, {2, 300000}, {300, 1025}}
	for range 10 {
		shapes = append(shapes, tensor.Shape{1 + r.Int64N(300), 1 + r.Int64N(400)})
	}
	for _, shape := range shapes {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			k := len(shape)
			rows, cols := shape[k-2], shape[k-1]
			scaleShape := append(shape[:k-2:k-2], (rows+127)/128, (cols+127)/128)
			data, scales := random(r, product(shape)), floats(r, product(scaleShape))
			want := make([]float32, len(data))
			for i, b := range data {
				m, row, col := int64(i)/(rows*cols), int64(i)/cols%rows, int64(i)%cols
				s := scales[(m*scaleShape[k-2]+row/128)*scaleShape[k-1]+col/128]
				want[i] = float32(e4m3[b] * float64(s))
			}
			v, err := quant.Join(view(t, "w.weight", tensor.Float8E4M3FN, shape, data), view(t, "w.weight_scale_inv", tensor.Float32, scaleShape, littleEndian(scales)))
			expect.OK(t, err)
			if v.Name() != "w.weight" || v.DType() != tensor.Float32 || !v.Shape().Equal(shape) || v.ZeroCopy() {
				t.Errorf("%v is zero-copy: %v", v, v.ZeroCopy())
			}
			compare(t, r, want, v)
		})
	}
}

// TestRows: the scales of compressed-tensors, for the tensor, for rows, and for parts of rows.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, tt := range []struct {
		weight, scale tensor.Shape
		run           int64 // of elements with one scale
	}{
		{tensor.Shape{5, 7}, tensor.Shape{}, 35},
		{tensor.Shape{5, 7}, tensor.Shape{1}, 35},
		{tensor.Shape{5, 7}, tensor.Shape{1, 1}, 35},
		{tensor.Shape{}, tensor.Shape{}, 1},
		{tensor.Shape{9}, tensor.Shape{1}, 9},
		{tensor.Shape{9}, tensor.Shape{3}, 3},
		{tensor.Shape{5, 7}, tensor.Shape{5}, 7},
		{tensor.Shape{5, 7}, tensor.Shape{5, 1}, 7},
		{tensor.Shape{4, 3, 7}, tensor.Shape{4, 3}, 7},
		{tensor.Shape{4, 3, 7}, tensor.Shape{4, 3, 1}, 7},
		{tensor.Shape{4, 3, 2, 2}, tensor.Shape{4, 1, 1, 1}, 12},
		{tensor.Shape{300, 384}, tensor.Shape{300, 3}, 128},
		{tensor.Shape{3, 5, 96}, tensor.Shape{3, 5, 6}, 16},
		{tensor.Shape{2, 300000}, tensor.Shape{2, 3}, 100000},
	} {
		for _, d := range []tensor.DType{tensor.Int8, tensor.Float8E4M3FN} {
			t.Run(fmt.Sprint(tt.weight, tt.scale, d), func(t *testing.T) {
				data, scales := random(r, product(tt.weight)), make([]byte, 0)
				var values []float64
				for range product(tt.scale) {
					bits := uint16(r.Uint32())
					scales = binary.LittleEndian.AppendUint16(scales, bits)
					values = append(values, float64(math.Float32frombits(uint32(bits)<<16)))
				}
				want := make([]float32, len(data))
				for i, b := range data {
					x := float64(int8(b))
					if d != tensor.Int8 {
						x = e4m3[b]
					}
					want[i] = float32(x * values[int64(i)/tt.run])
				}
				v, err := quant.Join(view(t, "w", d, tt.weight, data), view(t, "s", tensor.BFloat16, tt.scale, scales))
				expect.OK(t, err)
				compare(t, r, want, v)
			})
		}
	}
}

// TestMX: two FP4 numbers a byte, an exponent for 32, as bytes and as safetensors' own types.
func TestMX(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, groups := range []tensor.Shape{{1}, {3}, {5, 3}, {2, 3, 90}, {2, 9000}} {
		for _, typed := range []bool{false, true} {
			t.Run(fmt.Sprint(groups, typed), func(t *testing.T) {
				n, k := product(groups), len(groups)
				blocks, scales := random(r, 16*n), random(r, n)
				scales[0] = 255
				want := make([]float32, 32*n)
				for i := range want {
					nibble := blocks[i/2] >> (i % 2 * 4) & 15
					x := math.Ldexp(e2m1[nibble&7], int(scales[i/32])-127)
					if nibble > 7 {
						x = math.Copysign(x, -1)
					}
					if scales[i/32] == 255 {
						x = math.NaN()
					}
					want[i] = float32(x)
				}
				shape := append(groups[:k-1:k-1], 32*groups[k-1])
				w, s := view(t, "X_blocks", tensor.Uint8, append(groups[:k:k], 16), blocks), view(t, "X_scales", tensor.Uint8, groups, scales)
				if typed {
					var err, err2 error
					w, err = tensor.FromInfo(tensor.Info{Name: "w", Shape: shape, Encoding: lowbit.Encoding("F4")}, blocks)
					s, err2 = tensor.FromInfo(tensor.Info{Name: "s", Shape: groups, Encoding: lowbit.Encoding("F8_E8M0")}, scales)
					expect.OK(t, errors.Join(err, err2))
				}
				v, err := quant.Join(w, s)
				expect.OK(t, err)
				if !v.Shape().Equal(shape) {
					t.Errorf("shape %v, want %v", v.Shape(), shape)
				}
				compare(t, r, want, v)
			})
		}
	}
}

// TestClosed: the view is that of an open model.
func TestClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	saved := format.Save(t.Context(), path, nil, []tensor.View{view(t, "w", tensor.Float8E4M3FN, tensor.Shape{2, 3}, make([]byte, 6)), view(t, "s", tensor.Float32, tensor.Shape{2}, make([]byte, 8))}, nil)
	m, err := format.Open(path, nil)
	expect.OK(t, errors.Join(saved, err))
	w, _ := m.Tensor("w")
	s, _ := m.Tensor("s")
	v, err := quant.Join(w, s)
	expect.OK(t, errors.Join(err, m.Close()))
	_, bytesErr := v.Bytes()
	_, decodeErr := tensor.Decode[float64](nil, v)
	_, readErr := v.ReadAt(make([]byte, 3), 1)
	_, joinErr := quant.Join(w, s)
	_, noneErr := quant.Join(tensor.View{}, s)
	for i, err := range []error{bytesErr, decodeErr, readErr, joinErr, noneErr, tensor.DecodeAt(make([]float32, 1), v, 0)} {
		if !errors.Is(err, tensor.ErrClosed) {
			t.Errorf("%d: %v after Close", i, err)
		}
	}
}

// shrunk is a reader that has zeros behind its data, until it is cut.
type shrunk struct {
	*bytes.Reader
	cut bool
}

func (s *shrunk) ReadAt(p []byte, off int64) (int, error) {
	if s.cut {
		return s.Reader.ReadAt(p, off)
	}
	clear(p)
	_, _ = s.Reader.ReadAt(p, off)
	return len(p), nil
}

// TestTruncated: of a reader that has less than it claims no memory is taken for all.
func TestTruncated(t *testing.T) {
	header := `{"w.weight":{"dtype":"F8_E4M3","shape":[65536,1048576],"data_offsets":[4,68719476740]},"w.weight_scale":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`
	header += strings.Repeat(" ", -len(header)&7)
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+"\x00\x00\x80\x3f"...)
	size := int64(len(header)) + 12 + 1<<36
	src := &shrunk{Reader: bytes.NewReader(data)}
	m, err := format.OpenReaderAt(src, size, nil)
	expect.OK(t, err)
	defer m.Close()
	w, _ := m.Tensor("w.weight")
	s, _ := m.Tensor("w.weight_scale")
	v, err := quant.Join(w, s)
	expect.OK(t, err)
	src.cut = true
	if _, err := v.Bytes(); !errors.Is(err, tensor.ErrTruncated) && !errors.Is(err, tensor.ErrLimit) {
		t.Errorf("Bytes: %v", err)
	}
	expect.Refused(t, tensor.ErrTruncated, "DecodeAt")(nil, tensor.DecodeAt(make([]float32, 1), v, 1<<35))
}

// TestRefused: shapes and types that do not fit.
func TestRefused(t *testing.T) {
	const fp8, f32, u8 = tensor.Float8E4M3FN, tensor.Float32, tensor.Uint8
	const huge = math.MaxInt64
	of := func(d tensor.DType, shape ...int64) tensor.Info { return tensor.Info{DType: d, Shape: shape} }
	for name, tt := range map[string]struct {
		weight, scale tensor.Info
		want          error
	}{
		"too few blocks":          {of(fp8, 200, 300), of(f32, 1, 3), tensor.ErrShape},
		"blocks the wrong way":    {of(fp8, 200, 300), of(f32, 3, 2), tensor.ErrShape},
		"a scale for each column": {of(fp8, 4, 6), of(f32, 6), tensor.ErrShape},
		"groups that differ":      {of(fp8, 4, 10), of(f32, 4, 3), tensor.ErrShape},
		"no scales":               {of(fp8, 4, 10), of(f32, 4, 0), tensor.ErrShape},
		"more axes":               {of(fp8, 4, 6), of(f32, 4, 6, 2), tensor.ErrShape},
		"MX of 17 bytes":          {of(u8, 4, 17), of(u8, 4), tensor.ErrShape},
		"MX with other groups":    {of(u8, 4, 16), of(u8, 5), tensor.ErrShape},
		"MX of rank 1":            {of(u8, 16), of(u8), tensor.ErrShape},
		"hostile groups":          {of(u8, 0, huge/16, 16), of(u8, 0, huge/16), tensor.ErrShape},
		"hostile numbers":         {of(fp8, 0, huge), of(f32, 1), tensor.ErrShape},
		"float32 weights":         {of(f32, 2, 3), of(f32, 2), tensor.ErrDType},
		"integer scales":          {of(fp8, 2, 3), of(tensor.Int32, 2), tensor.ErrDType},
		"byte scales of FP8":      {of(fp8, 2, 3), of(u8, 2), tensor.ErrDType},
		"two kinds of scales": {tensor.Info{DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: &tensor.Quantization{Scales: []float32{1}, Axis: -1}},
			of(f32, 2), tensor.ErrQuantization},
	} {
		t.Run(name, func(t *testing.T) {
			tt.weight.Name, tt.scale.Name = "the weight", "the scale"
			var views [2]tensor.View
			for i, info := range []tensor.Info{tt.weight, tt.scale} {
				size, err := info.ByteSize()
				if err == nil {
					views[i], err = tensor.FromInfo(info, make([]byte, size))
				}
				expect.OK(t, err)
			}
			_, err := quant.Join(views[0], views[1])
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), `"the weight"`) || !strings.Contains(err.Error(), `"the scale"`) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestPairs finds scales by names, and nothing that Join would refuse.
func TestPairs(t *testing.T) {
	const fp8, f32, u8 = tensor.Float8E4M3FN, tensor.Float32, tensor.Uint8
	infos := []tensor.Info{
		{Name: "a.weight_scale_inv", DType: f32, Shape: tensor.Shape{2, 3}},
		{Name: "a.weight", DType: fp8, Shape: tensor.Shape{200, 300}},
		{Name: "b.weight", DType: tensor.Int8, Shape: tensor.Shape{4, 5}},
		{Name: "b.weight_scale", DType: tensor.BFloat16, Shape: tensor.Shape{4, 1}},
		{Name: "c.weight", DType: fp8, Shape: tensor.Shape{4, 5}},
		{Name: "c.weight_scale", DType: f32, Shape: tensor.Shape{3}},
		{Name: "d_blocks", DType: u8, Shape: tensor.Shape{2, 3, 16}},
		{Name: "d_scales", DType: u8, Shape: tensor.Shape{2, 3}},
		{Name: "e_blocks", DType: u8, Shape: tensor.Shape{2, 3, 16}},
		{Name: "e_scales", DType: u8, Shape: tensor.Shape{2, 3}},
		{Name: "e", DType: f32, Shape: tensor.Shape{1}},
		{Name: "f.weight", DType: tensor.Int8, Shape: tensor.Shape{4, 5}},
		{Name: "f.weight_scale", DType: f32, Shape: tensor.Shape{}},
		{Name: "f.weight_zero_point", DType: tensor.Int8, Shape: tensor.Shape{}},
		{Name: "g.weight", DType: fp8, Shape: tensor.Shape{4, 5}},
		{Name: "g.weight_scale", DType: f32, Shape: tensor.Shape{}},
		{Name: "h.weight", DType: u8, Shape: tensor.Shape{4, 16}},
		{Name: "h.weight_scale", DType: u8, Shape: tensor.Shape{4}},
		{Name: "i.weight", DType: f32, Shape: tensor.Shape{4, 16}},
		{Name: "j.weight", DType: fp8, Shape: tensor.Shape{2, 2}},
		{Name: "j.scale_weight", DType: f32, Shape: tensor.Shape{1}},
		{Name: "k.blocks", DType: u8, Shape: tensor.Shape{2, 3, 16}},
		{Name: "k.scales", DType: u8, Shape: tensor.Shape{2, 3}},
	}
	want := []quant.Pair{
		{Name: "a.weight", Weight: 1, Scale: 0, Layout: "block scales 128x128"},
		{Name: "b.weight", Weight: 2, Scale: 3, Layout: "a scale for each row"},
		{Name: "d", Weight: 6, Scale: 7, Layout: "a scale for each 32 elements"},
		{Name: "g.weight", Weight: 14, Scale: 15, Layout: "one scale"},
		{Name: "j.weight", Weight: 19, Scale: 20, Layout: "one scale"},
		{Name: "k", Weight: 21, Scale: 22, Layout: "a scale for each 32 elements"},
	}
	expect.Equal(t, want, quant.Pairs(infos))
}
