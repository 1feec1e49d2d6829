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
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// doubles is floats with more digits.
func doubles(name string, values ...float64) one {
	var b []byte
	for _, x := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return one{tensor.Info{Name: name, DType: tensor.Float64, Shape: tensor.Shape{int64(len(values))}}, b}
}

// TestOverflow: numbers that a narrower dtype makes infinite are counted one by one, in
// any place, refused, and reported when they are accepted. Infinite ones stay what they were.
func TestOverflow(t *testing.T) {
	inf := math.Inf(1)
	single := func(values ...float64) one {
		var list []float32
		for _, x := range values {
			list = append(list, float32(x))
		}
		return floats("w", tensor.Shape{int64(len(list))}, list...)
	}
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
		{"float32: too large", doubles("w", 1e300, 1, -1e39), tensor.Float32, 2},
		{"float32: infinite before", doubles("w", inf, 1, math.NaN()), tensor.Float32, 0},
		{"float16 of float64", doubles("w", 1e300, 7e4, 6e4, inf), tensor.Float16, 2},
		{"float64: all fit", single(math.MaxFloat32), tensor.Float64, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := model(t, "safetensors", format.Plan{}, tt.from)
			o := &convert.Options{DType: tt.to}
			if tt.want == 0 {
				converted(t, in, "safetensors", o)
				return
			}
			refused(t, in, "safetensors", o, format.ErrUnsupported)
			_, report := converted(t, in, "safetensors", &convert.Options{DType: tt.to, Lossy: true})
			want := []format.Loss{{Kind: format.LossConversion, Name: "w", Acceptable: true,
				Why: fmt.Sprintf("%d numbers that are too large for %v become infinite", tt.want, tt.to)}}
			if d := cmp.Diff(want, report.Losses); d != "" {
				t.Error(d)
			}
			for _, accept := range []string{"conversion", "conversion:w"} {
				o.AcceptLoss = []string{accept}
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
			in := model(t, kind, format.Plan{}, floats("w", tensor.Shape{300}, wave(300)...))
			b := read(t, in)
			data := content(t, open(t, in), "w").data
			for at := 0; at+8 < len(b); at++ {
				if slices.Equal(b[at:at+8], data[800:808]) {
					b[at] ^= 1
				}
			}
			if err := os.WriteFile(in, b, 0o644); err != nil {
				t.Fatal(err)
			}
			if kind != "safetensors" { // which has no checksums
				refused(t, in, "safetensors", &convert.Options{Lossy: true}, format.ErrChecksum)
			}
			converted(t, in, "safetensors", &convert.Options{Lossy: true, Read: &format.Options{Check: format.CheckStructure}})
		})
	}
}
