package tensor

import (
	"testing"
)

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
