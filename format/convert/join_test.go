package convert_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/tensor"
)

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
		floats("bias", tensor.Shape{2}, 5, 6),
		{tensor.Info{Name: "b_blocks", DType: tensor.Uint8, Shape: tensor.Shape{1, 1, 16}}, mx},
		{tensor.Info{Name: "b_scales", DType: tensor.Uint8, Shape: tensor.Shape{1, 1}}, []byte{128}},
	}
}

// TestJoinScales: each weight becomes one tensor with the values, in every dtype.
func TestJoinScales(t *testing.T) {
	in := model(t, "safetensors", format.Plan{}, scaled()...)
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
			if d := cmp.Diff([]string{"a.weight", "b", "bias"}, got); d != "" {
				t.Error(d)
			}
			for name, want := range map[string][]float64{"a.weight": wantA, "b": wantB, "bias": {5, 6}} {
				v, err := m.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
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
	_, report := converted(t, model(t, "safetensors", format.Plan{}, scaled()...), "gguf", &convert.Options{
		JoinScales: true, Quantize: convert.Quantized(tensor.QuantizeOptions{Encoding: gguf.Q8_0()}),
		Keep: func(info tensor.Info) bool { return info.Name == "b" },
	})
	if len(report.Quantized) != 1 || report.Quantized[0].MaxAbs > 12.0/127 {
		t.Errorf("%+v", report.Quantized)
	}
}

// TestJoinScalesRefused: nothing to join, and scales that take numbers beyond the new dtype.
func TestJoinScalesRefused(t *testing.T) {
	large := scaled()
	binary.LittleEndian.PutUint32(large[1].data, math.Float32bits(1e30))
	o := &convert.Options{JoinScales: true, DType: tensor.Float16}
	refused(t, model(t, "safetensors", format.Plan{}, floats("a", tensor.Shape{1}, 1)), "safetensors", o, format.ErrOption)
	refused(t, model(t, "safetensors", format.Plan{}, large...), "safetensors", o, format.ErrUnsupported)
}
