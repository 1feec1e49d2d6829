package convert_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// le returns integers as elements of size bytes.
func le(size int, values ...int64) (b []byte) {
	for _, v := range values {
		b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(v))[:size]...)
	}
	return b
}

// TestWider: a tensor whose dtype the target lacks gets one that holds its values, if that is
// accepted, and is listed; what no dtype holds is refused.
func TestWider(t *testing.T) {
	inf := []byte{0, 0x7c, 1, 0x3c} // float16: infinity, and 1 and a bit
	long := slices.Repeat([]int64{-5, math.MaxInt32}, 1<<18)
	for _, tt := range []struct {
		name string
		from tensor.DType
		data []byte
		to   string
		want tensor.DType
		out  []byte
	}{
		{"float16 to TSR", tensor.Float16, inf, "tsr", tensor.Float32, le(4, 0x7f800000, 0x3f802000)},
		{"bfloat16 to NumPy", tensor.BFloat16, []byte{0x80, 0x3f}, "npz", tensor.Float32, le(4, 0x3f800000)},
		{"float8 to MLE", tensor.Float8E4M3FN, []byte{0x38, 0xb8}, "mle", tensor.Float16, le(2, 0x3c00, 0xbc00)},
		{"uint8 to MOBI", tensor.Uint8, []byte{0, 255}, "mobi", tensor.Int16, le(2, 0, 255)},
		{"int16 to TSR", tensor.Int16, le(2, -2, math.MinInt16), "tsr", tensor.Int32, le(4, -2, math.MinInt16)},
		{"uint16 to MLE", tensor.Uint16, le(2, 65535), "mle", tensor.Int32, le(4, 65535)},
		{"int64 to MOBI", tensor.Int64, le(8, math.MinInt32, math.MaxInt32), "mobi", tensor.Int32, le(4, math.MinInt32, math.MaxInt32)},
		{"in pieces", tensor.Int64, le(8, long...), "tsr", tensor.Int32, le(4, long...)},
		{"uint64 to GGUF", tensor.Uint64, le(8, 7, math.MaxInt64), "gguf", tensor.Int64, le(8, 7, math.MaxInt64)},
		{"one too many", tensor.Int64, le(8, 0, math.MaxInt32+1), "mobi", 0, nil},
		{"one too few", tensor.Int64, le(8, 0, math.MinInt32-1), "mobi", 0, nil},
		{"beyond int64", tensor.Uint64, le(8, -1), "gguf", 0, nil},
		{"at the end", tensor.Int64, le(8, append(long, 1<<40)...), "tsr", 0, nil},
		{"float64 to MOBI", tensor.Float64, make([]byte, 8), "mobi", 0, nil},
		{"bool to TSR", tensor.Bool, []byte{1}, "tsr", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shape := tensor.Shape{int64(len(tt.data)) / tt.from.Size()}
			in := tensors(t, raw("7", tt.from, shape, tt.data))
			if list := losses(refused(t, in, tt.to, nil, format.ErrSchema)); list == nil || list[0].Acceptable {
				t.Fatalf("unasked: %v", list)
			}
			o := &convert.Options{Lossy: true, Verify: true}
			if tt.want == tensor.Invalid {
				if losses(refused(t, in, tt.to, o, format.ErrSchema)) == nil {
					t.Error("no losses")
				}
				return
			}
			m, report := converted(t, in, tt.to, o)
			why := fmt.Sprintf("%v is written as %v, with the same values", tt.from, tt.want)
			want := []schema.Loss{{Kind: schema.LossConversion, Name: "7", Why: why, Acceptable: true}}
			expect.Equal(t, want, report.Losses)
			got := content(t, m, m.At(0).Name())
			if d := cmp.Diff(tt.out, got.data); d != "" || got.info.DType != tt.want {
				t.Errorf("%v: %.300s", got.info.DType, d)
			}
			if _, report := converted(t, in, tt.to, accepting("conversion:7")); len(report.Losses) > 0 {
				t.Errorf("named: %v", report)
			}
		})
	}
}

// TestScalars: where a format has none, they have the shape [1], if that is accepted.
func TestScalars(t *testing.T) {
	in := tensors(t, floats("s", tensor.Shape{}, 7), raw("n", tensor.Int64, tensor.Shape{}, le(8, 9)))
	o := &convert.Options{Write: &format.WriteOptions{Extended: true}}
	refused(t, in, "mag", o, format.ErrUnsupported)
	o.Lossy, o.Verify = true, true
	m, report := converted(t, in, "mag", o)
	const why = "a scalar is written with the shape [1]"
	want := []schema.Loss{{Kind: schema.LossConversion, Name: "n", Why: why, Acceptable: true}, {Kind: schema.LossConversion, Name: "s", Why: why, Acceptable: true}}
	expect.Equal(t, want, report.Losses)
	expect.Equal(t, vector("s", 7), content(t, m, "s"), loose)
	o.Write = nil // no int64, so one tensor takes both
	if m, report = converted(t, in, "mag", o); len(report.Losses) != 3 {
		t.Fatal(report)
	}
	expect.Equal(t, raw("n", tensor.Int32, tensor.Shape{1}, le(4, 9)), content(t, m, "n"), loose)
}

// TestOverflow: numbers that a narrower dtype makes infinite are counted one by one, in
// any place, refused, and reported when they are accepted. Infinite ones stay what they were.
func TestOverflow(t *testing.T) {
	inf := math.Inf(1)
	single := func(values ...float64) one { return encoded("w", tensor.Float32, values...) }
	doubles := func(values ...float64) one { return encoded("w", tensor.Float64, values...) }
	for _, tt := range []struct {
		name string
		from one
		to   tensor.DType
		want int // that become infinite
	}{
		{"float16: largest", single(65504, -65504, 65519.99), tensor.Float16, 0},
		{"float16: first that is too large", single(1, 2, 65520, 4, 5), tensor.Float16, 1},
		{"float16: both signs, at both ends", single(1e6, 1, 2, 3, 4, 5, 6, 7, -1e30), tensor.Float16, 2},
		{"float16: infinite before", single(inf, -inf, math.NaN(), 1), tensor.Float16, 0},
		{"float16: both", single(inf, 1e5, -inf, 1e5, 1e5), tensor.Float16, 3},
		{"float16: in the second piece", single(append(make([]float64, 1<<18), 1, 1e6)...), tensor.Float16, 1},
		{"bfloat16: what rounds up", single(math.MaxFloat32, 1, -math.MaxFloat32), tensor.BFloat16, 2},
		{"bfloat16: largest", single(3.3895e38), tensor.BFloat16, 0},
		{"float32: too large", doubles(1e300, 1, -1e39), tensor.Float32, 2},
		{"float32: infinite before", doubles(inf, 1, math.NaN()), tensor.Float32, 0},
		{"float16 of float64", doubles(1e300, 7e4, 6e4, inf), tensor.Float16, 2},
		{"float64: all fit", single(math.MaxFloat32), tensor.Float64, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := tensors(t, tt.from)
			o := &convert.Options{DType: tt.to}
			if tt.want == 0 {
				converted(t, in, "safetensors", o)
				return
			}
			refused(t, in, "safetensors", o, format.ErrUnsupported)
			_, report := converted(t, in, "safetensors", &convert.Options{DType: tt.to, Lossy: true})
			want := []schema.Loss{{Kind: schema.LossConversion, Name: "w", Acceptable: true,
				Why: fmt.Sprintf("%d numbers are too large for %v and become infinite", tt.want, tt.to)}}
			expect.Equal(t, want, report.Losses)
			for _, accept := range []string{"conversion", "conversion:w"} {
				o.Write = &format.WriteOptions{AcceptLoss: []string{accept}}
				if _, report := converted(t, in, "safetensors", o); report.Losses != nil {
					t.Errorf("%s: %v", accept, report)
				}
			}
		})
	}
}

// TestDamaged: damage that the source's sums find does not get new sums.
func TestDamaged(t *testing.T) {
	testhost.NeedReplace(t)
	for _, kind := range []string{"mle", "wia", "mag", "safetensors"} {
		t.Run(kind, func(t *testing.T) {
			in := model(t, kind, schema.Schema{}, floats("w", tensor.Shape{300}, wave(300)...))
			b := expect.Read(t, in)
			data := content(t, open(t, in), "w").data
			for at := 0; at+8 < len(b); at++ {
				if slices.Equal(b[at:at+8], data[800:808]) {
					b[at] ^= 1
				}
			}
			expect.OK(t, os.WriteFile(in, b, 0o644))
			if kind != "safetensors" { // which has no checksums
				refused(t, in, "safetensors", &convert.Options{Lossy: true}, format.ErrChecksum)
			}
			converted(t, in, "safetensors", &convert.Options{Lossy: true, Read: &format.Options{Check: format.CheckStructure}})
		})
	}
}

// scaled has an FP8 weight in 2x2 blocks, one group of MX, and a tensor without scales.
func scaled() []one {
	weight := make([]byte, 130*130)
	for i := range weight {
		weight[i] = 0x38 // 1
	}
	weight[129*130+129] = 0xc0 // -2
	mx := []byte{0x10, 0x32, 0x54, 0x76, 15: 0xf0}
	return []one{
		{tensor.Info{Name: "a.weight", DType: tensor.Float8E4M3FN, Shape: tensor.Shape{130, 130}}, weight},
		floats("a.weight_scale_inv", tensor.Shape{2, 2}, 1, 2, 3, 4),
		vector("bias", 5, 6),
		{tensor.Info{Name: "b_blocks", DType: tensor.Uint8, Shape: tensor.Shape{1, 1, 16}}, mx},
		{tensor.Info{Name: "b_scales", DType: tensor.Uint8, Shape: tensor.Shape{1, 1}}, []byte{128}},
	}
}

// TestJoinScales: each weight becomes one tensor with the values, in every dtype.
func TestJoinScales(t *testing.T) {
	in := tensors(t, scaled()...)
	wantA := make([]float64, 130*130)
	for i := range wantA {
		wantA[i] = float64(1 + i/130/128*2 + i%130/128)
	}
	wantA[len(wantA)-1] = -8
	wantB := []float64{0, 1, 2, 3, 4, 6, 8, 12, 30: 0, 31: -12}
	for _, d := range []tensor.DType{tensor.Invalid, tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64} {
		t.Run(d.String(), func(t *testing.T) {
			m, _ := converted(t, in, "safetensors", &convert.Options{JoinScales: true, DType: d, Verify: true})
			if d == tensor.Invalid {
				d = tensor.Float32
			}
			var got []string
			for name, v := range m.Tensors() {
				got = append(got, name)
				if v.DType() != d {
					t.Errorf("%v", v)
				}
			}
			slices.Sort(got)
			expect.Equal(t, []string{"a.weight", "b", "bias"}, got)
			for name, want := range map[string][]float64{"a.weight": wantA, "b": wantB, "bias": {5, 6}} {
				v, err := m.Tensor(name)
				expect.OK(t, err)
				got, err := tensor.Decode[float64](nil, v)
				if err != nil || !cmp.Equal(want, got) {
					t.Errorf("%s: %v, want %v (%v)", name, got, want, err)
				}
			}
		})
	}
}

// TestJoinScalesQuantizes: what -quantize does applies to the joined tensor.
func TestJoinScalesQuantizes(t *testing.T) {
	_, report := converted(t, tensors(t, scaled()...), "gguf", &convert.Options{JoinScales: true, Quantize: convert.Quantized(tensor.QuantizeOptions{Encoding: gguf.Q8_0()}), Keep: func(info tensor.Info) bool { return info.Name == "b" }})
	if len(report.Quantized) != 1 || report.Quantized[0].MaxAbs > 12.0/127 {
		t.Errorf("%+v", report.Quantized)
	}
}

// TestJoinScalesRefused: nothing to join, and scales that take numbers beyond the new dtype.
func TestJoinScalesRefused(t *testing.T) {
	large := scaled()
	binary.LittleEndian.PutUint32(large[1].data, math.Float32bits(1e30))
	o := &convert.Options{JoinScales: true, DType: tensor.Float16}
	refused(t, tensors(t, vector("a", 1)), "safetensors", o, format.ErrOption)
	refused(t, tensors(t, large...), "safetensors", o, format.ErrUnsupported)
}
