package tensor

import (
	"errors"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"
)

// Types of other packages: by their underlying type, and by what they say.
type (
	double  float64
	single  float32
	long    int64
	integer int32
	word    int16
	tiny    int8
	ulong   uint64
	uint_   uint32
	bits16  uint16
	bits8   uint8
	phasor  complex64

	brain  uint16
	e5m2ed uint8
	liar   int32
)

func (brain) DType() DType  { return BFloat16 }
func (e5m2ed) DType() DType { return Float8E5M2 }
func (liar) DType() DType   { return Uint32 }

// elemCase is what a Go type serves for.
type elemCase struct {
	kind DType
	of   DType   // of a slice, Invalid where Of refuses
	as   []DType // that As and Decode of stored values take
	// decodes fill a slice of two from a tensor of two.
	view, decode func(View) error
	make         func() (View, error)
}

func elemOf[T Elem](of DType, as ...DType) elemCase {
	return elemCase{
		kind: kindOf[T](), of: of, as: as,
		view:   func(v View) error { _, err := As[T](v); return err },
		decode: func(v View) error { return DecodeAt(make([]T, 2), v, 0) },
		make:   func() (View, error) { return Of("w", Shape{2}, []T{1, 2}) },
	}
}

// TestElemTypes goes through Go types, named ones too, and all dtypes.
func TestElemTypes(t *testing.T) {
	halves := []DType{Uint16, Float16, BFloat16}
	bytes := []DType{Uint8, Bool, Float8E4M3FN, Float8E5M2}
	for name, test := range map[string]elemCase{
		"float64": elemOf[float64](Float64, Float64), "double": elemOf[double](Float64, Float64),
		"float32": elemOf[float32](Float32, Float32), "single": elemOf[single](Float32, Float32),
		"int64": elemOf[int64](Int64, Int64), "long": elemOf[long](Int64, Int64),
		"int32": elemOf[int32](Int32, Int32), "integer": elemOf[integer](Int32, Int32),
		"int16": elemOf[int16](Int16, Int16), "word": elemOf[word](Int16, Int16),
		"int8": elemOf[int8](Int8, Int8), "tiny": elemOf[tiny](Int8, Int8),
		"uint64": elemOf[uint64](Uint64, Uint64), "ulong": elemOf[ulong](Uint64, Uint64),
		"uint32": elemOf[uint32](Uint32, Uint32), "uint_": elemOf[uint_](Uint32, Uint32),
		"uint16": elemOf[uint16](Uint16, halves...), "bits16": elemOf[bits16](Invalid, halves...),
		"uint8": elemOf[uint8](Uint8, bytes...), "bits8": elemOf[bits8](Invalid, bytes...),
		"complex64": elemOf[complex64](Complex64, Complex64), "phasor": elemOf[phasor](Complex64, Complex64),
		"F16": elemOf[F16](Float16, Float16), "BF16": elemOf[BF16](BFloat16, BFloat16),
		"brain": elemOf[brain](BFloat16, BFloat16), "e5m2ed": elemOf[e5m2ed](Float8E5M2, Float8E5M2),
		"liar": elemOf[liar](Invalid),
	} {
		v, err := test.make()
		if d := v.DType(); d != test.of || (err == nil) != (d != Invalid) || err != nil && !errors.Is(err, ErrDType) {
			t.Errorf("Of[%s] is %v, %v, want %v", name, d, err, test.of)
		}
		isReal := test.kind == Float32 || test.kind == Float64
		for _, d := range allDTypes() {
			taken := slices.Contains(test.as, d)
			v, _ := FromBytes("w", d, Shape{2}, at(int(2*d.Size()), 0))
			if err := test.view(v); memory.LittleEndian && (err == nil) != taken || err != nil && !errors.Is(err, map[bool]error{true: ErrByteOrder, false: ErrDType}[taken]) {
				t.Errorf("As[%s] of %v = %v", name, d, err)
			}
			decodes := taken || isReal && d != Complex64
			if err := test.decode(v); (err == nil) != decodes || err != nil && !errors.Is(err, ErrDType) {
				t.Errorf("DecodeAt[%s] of %v = %v", name, d, err)
			}
		}
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
	for _, name := range []string{"", "invalid", "float12", "fp", "dtype(1)", "torch.", "<f4"} {
		if d, ok := ParseDType(name); ok {
			t.Errorf("ParseDType(%q) = %v", name, d)
		}
	}
}

// TestParseDType parses the names that people type.
func TestParseDType(t *testing.T) {
	for name, want := range map[string]DType{
		"bf16": BFloat16, "BF16": BFloat16, "bfloat16": BFloat16, "torch.bfloat16": BFloat16, "f16": Float16, "F16": Float16, "fp16": Float16, "half": Float16, "Float16": Float16,
		"f32": Float32, "F32": Float32, "fp32": Float32, "float": Float32, "FLOAT32": Float32, "f64": Float64, "double": Float64, "INT8": Int8, "i8": Int8, "U8": Uint8, "I64": Int64,
		"F8_E4M3": Float8E4M3FN, "float8_e5m2": Float8E5M2, "C64": Complex64, "BOOL": Bool,
	} {
		if d, ok := ParseDType(name); d != want || !ok {
			t.Errorf("ParseDType(%q) = %v, %v", name, d, ok)
		}
	}
	seen := map[string]DType{}
	for _, d := range allDTypes() {
		for _, name := range append(otherNames[d], d.String()) {
			if other, twice := seen[name]; twice {
				t.Errorf("%q is %v and %v", name, other, d)
			}
			seen[name] = d
			if got, ok := ParseDType(name); got != d || !ok {
				t.Errorf("ParseDType(%q) = %v, %v", name, got, ok)
			}
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
