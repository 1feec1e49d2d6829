package npy

import (
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestTypeNames(t *testing.T) {
	for _, e := range elems {
		byName, _, err := ParseType(e.name())
		expect.OK(t, err)
		expect.Equal(t, e.dtype, byName)
		name, err := TypeName(tensor.Info{DType: e.dtype, Encoding: e.enc})
		expect.OK(t, err)
		typ, enc, err := ParseType(name)
		expect.OK(t, err)
		expect.Equal(t, e.dtype, typ)
		if enc != e.enc {
			t.Errorf("%s is encoded as %v, not as %v", name, enc, e.enc)
		}
	}
	cases := []struct {
		name string
		info tensor.Info
		want string
	}{
		{"floats", tensor.Info{DType: tensor.Float32}, "<f4"},
		{"bytes", tensor.Info{DType: tensor.Bool}, "|b1"},
		{"strings", tensor.Info{Encoding: &tensor.Encoding{Name: "<U3", Format: archiveName}}, "<U3"},
		{"records in the order of Fortran", tensor.Info{Encoding: &tensor.Encoding{Name: "[('a', '<i4')], fortran_order", Format: archiveName}}, "[('a', '<i4')]"},
		{"a dtype that NumPy lacks", tensor.Info{DType: tensor.BFloat16}, ""},
		{"blocks", tensor.Info{Encoding: &tensor.Encoding{Name: "Q4_K", BlockElems: 256, BlockBytes: 144}}, ""},
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
	for _, name := range []string{"", "<", ">f4", "<f3", "<U3", "F32", "[('a', '<i4')]"} {
		_, _, err := ParseType(name)
		expect.Refused(t, tensor.ErrUnsupported, name)(nil, err)
	}
}
