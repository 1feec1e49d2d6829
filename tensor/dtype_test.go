package tensor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDTypeTable(t *testing.T) {
	want := []struct {
		d    DType
		name string
		size int64
		word int
	}{
		{Float64, "float64", 8, 8}, {Float32, "float32", 4, 4}, {Float16, "float16", 2, 2}, {BFloat16, "bfloat16", 2, 2},
		{Int64, "int64", 8, 8}, {Int32, "int32", 4, 4}, {Int16, "int16", 2, 2}, {Int8, "int8", 1, 1},
		{Uint64, "uint64", 8, 8}, {Uint32, "uint32", 4, 4}, {Uint16, "uint16", 2, 2}, {Uint8, "uint8", 1, 1},
		{Bool, "bool", 1, 1}, {Complex64, "complex64", 8, 4},
		{Float8E4M3FN, "float8_e4m3fn", 1, 1}, {Float8E5M2, "float8_e5m2", 1, 1},
	}
	var all []DType
	for _, w := range want {
		all = append(all, w.d)
		if !w.d.Valid() || w.d.Size() != w.size || w.d.String() != w.name || w.d.wordSize() != w.word {
			t.Errorf("%v: valid %v, %d bytes in words of %d", w.d, w.d.Valid(), w.d.Size(), w.d.wordSize())
		}
		if d, ok := ParseDType(w.name); !ok || d != w.d {
			t.Errorf("ParseDType(%q) = %v, %v", w.name, d, ok)
		}
	}
	if d := cmp.Diff(all, allDTypes()); d != "" {
		t.Errorf("DTypes (-want +got)\n%s", d)
	}
}

func TestDTypeInvalid(t *testing.T) {
	for _, d := range []DType{Invalid, numDTypes, 200, 255} {
		if d.Valid() || d.Size() != 0 {
			t.Errorf("%v: valid %v, %d bytes", d, d.Valid(), d.Size())
		}
	}
	if got := DType(200).String(); got != "dtype(200)" {
		t.Errorf("String = %q", got)
	}
	for _, name := range []string{"", "invalid", "Float32", "float", "dtype(1)"} {
		if d, ok := ParseDType(name); ok {
			t.Errorf("ParseDType(%q) = %v", name, d)
		}
	}
}

// allDTypes returns all element types.
func allDTypes() (all []DType) {
	for d := Invalid + 1; d.Valid(); d++ {
		all = append(all, d)
	}
	return all
}
