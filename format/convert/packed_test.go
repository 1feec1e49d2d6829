package convert_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// gptq are the tensors of a packed weight, as in ../shared/cases/reports/s30_gptq.safetensors.
func gptq(prefix string) []one {
	return []one{
		raw(prefix+"qweight", tensor.Int32, tensor.Shape{2, 8}, make([]byte, 64)), raw(prefix+"qzeros", tensor.Int32, tensor.Shape{2, 1}, make([]byte, 8)),
		raw(prefix+"scales", tensor.Float16, tensor.Shape{2, 8}, make([]byte, 32)), raw(prefix+"g_idx", tensor.Int32, tensor.Shape{16}, make([]byte, 64)),
	}
}

// scaledFloat8 has a float8 weight and its scale, as in ../shared/cases/reports/s42_fp8_scale_weight.safetensors.
func scaledFloat8() []one {
	return []one{
		raw("scaled_fp8", tensor.Float8E4M3FN, tensor.Shape{0}, nil), raw("l.weight", tensor.Float8E4M3FN, tensor.Shape{2, 2}, []byte{0x38, 0x40, 0xb8, 0}),
		floats("l.scale_weight", tensor.Shape{1}, 0.5),
	}
}

// TestPacked: packed weights are named, copied to formats of plain tensors, and refused by formats whose programs would take
// them for numbers.
func TestPacked(t *testing.T) {
	two := tensors(t, append(gptq("a."), gptq("b.")...)...)
	eight := tensors(t, scaledFloat8()...)
	for _, to := range format.Writable() {
		computes := map[string]bool{"gguf": true, "onnx": true, "mobi": true, "mle": true, "wia": true}[to]
		for in, want := range map[string]string{two: `2 tensors are packed GPTQ weights, the first is "a.qweight"`, eight: `"l.weight" is a packed FP8 weight`} {
			r, err := convert.File(t.Context(), in, "m."+to, &convert.Options{Lossy: true, DryRun: true, Write: &format.WriteOptions{Format: expect.Must(format.ByName(to))}})
			if computes {
				if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "programs that read "+to) {
					t.Errorf("%s: %v, want %s", to, err, want)
				}
				continue
			}
			var lost *schema.LossError // such as a dtype
			if err != nil && !errors.As(err, &lost) {
				t.Errorf("%s: %v", to, err)
			}
			if err == nil && len(r.Packed) != 1 {
				t.Errorf("%s: %v", to, r.Packed)
			}
		}
	}
	_, r := converted(t, two, "safetensors", nil)
	expect.Equal(t, "2 packed weights: GPTQ, 4 bits, groups of 8", r.Packed[0].String())
	err := refused(t, two, "safetensors", &convert.Options{JoinScales: true}, format.ErrUnsupported)
	if !strings.Contains(err.Error(), "which joining does not decode") {
		t.Error(err)
	}
	// What is left out is not refused.
	keep := func(i tensor.Info) bool { return strings.HasSuffix(i.Name, "scales") }
	_, r = converted(t, two, "gguf", &convert.Options{Keep: keep})
	expect.Equal(t, 0, len(r.Packed))
}

// TestPackedJoined: the companions of a joined weight are gone, and the result fits everywhere.
func TestPackedJoined(t *testing.T) {
	for _, to := range []string{"safetensors", "gguf", "onnx"} {
		m, r := converted(t, tensors(t, scaledFloat8()...), to, &convert.Options{JoinScales: true})
		expect.Equal(t, 1, m.Len())
		expect.Equal(t, 0, len(r.Packed))
		v, err := m.Tensor("l.weight")
		expect.OK(t, err)
		values, err := tensor.Decode[float32](nil, v)
		expect.OK(t, err)
		expect.Equal(t, []float32{0.5, 1, -0.5, 0}, values)
	}
}

// TestPackedCopy: a file is copied within its format, whatever its tensors are.
func TestPackedCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	w, err := tensor.FromInfo(tensor.Info{Name: "l.weight", DType: tensor.Int8, Shape: tensor.Shape{2, 2}}, make([]byte, 4))
	expect.OK(t, err)
	s, err := tensor.Of("l.SCB", tensor.Shape{2}, []float32{1, 2})
	expect.OK(t, err)
	expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{w, s}, nil))
	m, r := converted(t, path, "gguf", nil)
	expect.Equal(t, 2, m.Len())
	expect.Equal(t, 1, len(r.Packed))
}
