package all_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

// TestSmallTypes: types of a few bits that safetensors and ONNX share become the other's of the same bits and
// come back, and all become float32.
func TestSmallTypes(t *testing.T) {
	for _, tt := range []struct{ from, to, name, becomes string }{
		{"safetensors", "onnx", "F4", "FLOAT4E2M1"}, {"safetensors", "onnx", "F8_E8M0", "FLOAT8E8M0"},
		{"safetensors", "onnx", "F8_E4M3FNUZ", "FLOAT8E4M3FNUZ"}, {"safetensors", "onnx", "F8_E5M2FNUZ", "FLOAT8E5M2FNUZ"},
		{"onnx", "onnx", "INT4", "INT4"}, {"onnx", "onnx", "UINT2", "UINT2"}, {"safetensors", "safetensors", "F6_E3M2", "F6_E3M2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := tensor.Info{Name: "w", Encoding: lowbit.Encoding(tt.name), Shape: tensor.Shape{3, 8}}
			dir := t.TempDir()
			path := filepath.Join(dir, "a."+tt.from)
			expect.OK(t, create(tt.from, path, &schema.Schema{Tensors: []tensor.Info{info}}, nil))
			want := make([]float32, 24)
			expect.OK(t, info.Encoding.Decode(want, fill(0, info)))
			there, back, wide := filepath.Join(dir, "b."+tt.to), filepath.Join(dir, "c."+tt.from), filepath.Join(dir, "d.mag")
			for _, step := range []struct {
				from, to, becomes string
				o                 convert.Options
			}{
				{path, there, tt.becomes, convert.Options{Verify: true}}, {there, back, tt.name, convert.Options{Lossy: true, Verify: true}},
				{there, wide, "float32", convert.Options{Lossy: true, DType: tensor.Float32}}} {
				_, err := convert.File(t.Context(), step.from, step.to, &step.o)
				expect.OK(t, err)
				v := open(t, step.to, nil).At(0)
				info := v.Info()
				got, err := tensor.Decode[float32](nil, v)
				if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); err != nil || d != "" || info.TypeName() != step.becomes {
					t.Errorf("%s: %s, %v: %s", step.to, info.TypeName(), err, d)
				}
			}
		})
	}
}

// TestHalfBytes: safetensors has no tensors whose last byte is partly used, so none is written.
func TestHalfBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.onnx")
	info := tensor.Info{Name: "w", Encoding: lowbit.Encoding("FLOAT4E2M1"), Shape: tensor.Shape{3}}
	expect.OK(t, create("onnx", path, &schema.Schema{Tensors: []tensor.Info{info}}, nil))
	expect.Refused(t, format.ErrSchema)(convert.File(t.Context(), path, path+".safetensors", &convert.Options{Lossy: true}))
}
