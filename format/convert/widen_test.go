package convert_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
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
			in := model(t, "safetensors", format.Plan{}, one{tensor.Info{Name: "7", DType: tt.from, Shape: shape}, tt.data})
			if list := losses(refused(t, in, tt.to, nil, format.ErrPlan)); list == nil || list[0].Acceptable {
				t.Fatalf("unasked: %v", list)
			}
			o := &convert.Options{Lossy: true, Verify: true}
			if tt.want == tensor.Invalid {
				if losses(refused(t, in, tt.to, o, format.ErrPlan)) == nil {
					t.Error("no losses")
				}
				return
			}
			m, report := converted(t, in, tt.to, o)
			why := fmt.Sprintf("%v is written as %v, with the same values", tt.from, tt.want)
			want := []format.Loss{{Kind: format.LossConversion, Name: "7", Why: why, Acceptable: true}}
			if d := cmp.Diff(want, report.Losses); d != "" {
				t.Error(d)
			}
			got := content(t, m, m.At(0).Name())
			if d := cmp.Diff(tt.out, got.data); d != "" || got.info.DType != tt.want {
				t.Errorf("%v: %.300s", got.info.DType, d)
			}
			o = &convert.Options{}
			o.AcceptLoss = []string{"conversion:7"}
			if _, report := converted(t, in, tt.to, o); len(report.Losses) > 0 {
				t.Errorf("named: %v", report)
			}
		})
	}
}

// TestScalars: where a format has none, they have the shape [1], if that is accepted.
func TestScalars(t *testing.T) {
	in := model(t, "safetensors", format.Plan{}, floats("s", tensor.Shape{}, 7), one{tensor.Info{Name: "n", DType: tensor.Int64, Shape: tensor.Shape{}}, le(8, 9)})
	o := &convert.Options{}
	o.Storage.Extended = true
	refused(t, in, "mag", o, format.ErrUnsupported)
	o.Lossy, o.Verify = true, true
	m, report := converted(t, in, "mag", o)
	const why = "a scalar is written with the shape [1]"
	want := []format.Loss{{Kind: format.LossConversion, Name: "n", Why: why, Acceptable: true}, {Kind: format.LossConversion, Name: "s", Why: why, Acceptable: true}}
	if d := cmp.Diff(want, report.Losses); d != "" {
		t.Error(d)
	}
	if d := diff(floats("s", tensor.Shape{1}, 7), content(t, m, "s")); d != "" {
		t.Error(d)
	}
	o.Storage.Extended = false // no int64, so one tensor takes both
	if m, report = converted(t, in, "mag", o); len(report.Losses) != 3 {
		t.Fatal(report)
	}
	if d := diff(one{tensor.Info{Name: "n", DType: tensor.Int32, Shape: tensor.Shape{1}}, le(4, 9)}, content(t, m, "n")); d != "" {
		t.Error(d)
	}
}
