package onnx

import (
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

func TestTypeNames(t *testing.T) {
	for _, e := range elemTypes[1:] {
		typ, enc, err := ParseType(e.name)
		expect.OK(t, err)
		name, err := TypeName(tensor.Info{DType: typ, Encoding: enc})
		expect.OK(t, err)
		expect.Equal(t, e.name, name)
	}
	cases := []struct {
		name string
		info tensor.Info
		want string
	}{
		{"a dtype", tensor.Info{DType: tensor.Float64}, "DOUBLE"},
		{"a type of safetensors", tensor.Info{Encoding: lowbit.Encoding("F8_E8M0")}, "FLOAT8E8M0"},
		{"blocks", tensor.Info{Encoding: &tensor.Encoding{Name: "Q4_K", BlockElems: 256, BlockBytes: 144}}, ""},
		{"a code without a name", tensor.Info{Encoding: &tensor.Encoding{Name: "type 99 in int32_data"}}, ""},
		{"a sparse tensor", tensor.Info{Encoding: &tensor.Encoding{Name: "SPARSE FLOAT"}}, ""},
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
	for _, name := range []string{"", "float16", "UNDEFINED", "F16"} {
		_, _, err := ParseType(name)
		expect.Refused(t, tensor.ErrUnsupported, name)(nil, err)
	}
}
