package gguf

import (
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestTypeNames(t *testing.T) {
	for _, e := range elementTypes {
		for _, spelled := range []string{e.name, strings.ToLower(e.name)} {
			typ, enc, err := ParseType(spelled)
			expect.OK(t, err)
			name, err := TypeName(tensor.Info{DType: typ, Encoding: enc})
			expect.OK(t, err)
			expect.Equal(t, e.name, name)
		}
	}
	cases := []struct {
		name string
		info tensor.Info
		want string
	}{
		{"a dtype", tensor.Info{DType: tensor.BFloat16}, "BF16"},
		{"blocks", tensor.Info{Encoding: Q8_0()}, "Q8_0"},
		{"a dtype that ggml lacks", tensor.Info{DType: tensor.Uint8}, ""},
		{"a code without a name", tensor.Info{Encoding: typeOf(99).encoding}, ""},
		{"other blocks of the name", tensor.Info{Encoding: &tensor.Encoding{Name: "Q4_K", BlockElems: 128, BlockBytes: 72}}, ""},
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
	for _, name := range []string{"", "type 99", "F8", "Q4_K_M"} {
		_, _, err := ParseType(name)
		expect.Refused(t, tensor.ErrUnsupported, name)(nil, err)
	}
}

func TestFileTypes(t *testing.T) {
	for i, name := range fileTypes {
		if name == "" {
			t.Errorf("number %d has no name", i)
		}
		expect.Equal(t, name, FileType(i).String())
		for _, spelled := range []string{name, strings.ToLower(name)} {
			f, err := ParseFileType(spelled)
			expect.OK(t, err)
			expect.Equal(t, FileType(i), f)
		}
	}
	expect.Equal(t, "type 42", FileType(42).String())
	expect.Equal(t, "type 4294967295", FileType(1<<32-1).String())
	for _, name := range []string{"", "type 42", "Q4_K"} {
		f, err := ParseFileType(name)
		expect.Refused(t, tensor.ErrUnsupported, name)(f, err)
	}
}
