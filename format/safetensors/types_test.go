package safetensors

import (
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

func TestTypeNames(t *testing.T) {
	for _, d := range dtypes {
		typ, enc, err := ParseType(d.name)
		expect.OK(t, err)
		name, err := TypeName(tensor.Info{DType: typ, Encoding: enc})
		expect.OK(t, err)
		expect.Equal(t, d.name, name)
	}
	cases := []struct {
		name string
		info tensor.Info
		want string
	}{
		{"a dtype", tensor.Info{DType: tensor.Float8E4M3FN}, "F8_E4M3"},
		{"a type of ONNX", tensor.Info{Encoding: lowbit.Encoding("FLOAT8E8M0")}, "F8_E8M0"},
		{"a type of a newer writer", tensor.Info{Encoding: &tensor.Encoding{Name: "F3", Format: formatName}, Size: 1}, "F3"},
		{"blocks", tensor.Info{Encoding: &tensor.Encoding{Name: "Q4_K", BlockElems: 256, BlockBytes: 144}}, ""},
		{"a type of another format", tensor.Info{Encoding: &tensor.Encoding{Name: "F3", Format: "gguf"}, Size: 1}, ""},
		{"a dtype of the reference as an encoding", tensor.Info{Encoding: &tensor.Encoding{Name: "F32", Format: formatName}, Size: 1}, ""},
		{"no type", tensor.Info{}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name, err := TypeName(c.info)
			expect.Equal(t, c.want, name)
			if c.want == "" {
				expect.Refused(t, tensor.ErrUnsupported)(name, err)
			}
		})
	}
	for _, name := range []string{"", "f32", "F3", "FLOAT16"} {
		_, _, err := ParseType(name)
		expect.Refused(t, tensor.ErrUnsupported, name)(nil, err)
	}
}
