package tensor

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/memory"
)

// asOf calls As with the Go type of each dtype.
var asOf = map[string]func(View) error{
	"float64":   func(v View) error { _, err := As[float64](v); return err },
	"float32":   func(v View) error { _, err := As[float32](v); return err },
	"F16":       func(v View) error { _, err := As[F16](v); return err },
	"BF16":      func(v View) error { _, err := As[BF16](v); return err },
	"int64":     func(v View) error { _, err := As[int64](v); return err },
	"int32":     func(v View) error { _, err := As[int32](v); return err },
	"int16":     func(v View) error { _, err := As[int16](v); return err },
	"int8":      func(v View) error { _, err := As[int8](v); return err },
	"uint64":    func(v View) error { _, err := As[uint64](v); return err },
	"uint32":    func(v View) error { _, err := As[uint32](v); return err },
	"uint16":    func(v View) error { _, err := As[uint16](v); return err },
	"uint8":     func(v View) error { _, err := As[uint8](v); return err },
	"complex64": func(v View) error { _, err := As[complex64](v); return err },
}

// TestAsTypes goes through all pairs of Go type and dtype.
func TestAsTypes(t *testing.T) {
	accepted := map[string][]DType{
		"float64": {Float64}, "float32": {Float32}, "F16": {Float16}, "BF16": {BFloat16},
		"int64": {Int64}, "int32": {Int32}, "int16": {Int16}, "int8": {Int8},
		"uint64": {Uint64}, "uint32": {Uint32}, "uint16": {Uint16, Float16, BFloat16}, "uint8": {Uint8, Bool, Float8E4M3FN, Float8E5M2},
		"complex64": {Complex64},
	}
	for name, call := range asOf {
		for _, d := range allDTypes() {
			v, err := FromBytes("w", d, Shape{3}, at(int(3*d.Size()), 0))
			if err != nil {
				t.Fatal(err)
			}
			err = call(v)
			good := false
			for _, a := range accepted[name] {
				good = good || a == d
			}
			switch {
			case !good && !errors.Is(err, ErrDType):
				t.Errorf("As[%s] of %v = %v, want ErrDType", name, d, err)
			case good && memory.LittleEndian && err != nil:
				t.Errorf("As[%s] of %v = %v", name, d, err)
			case good && !memory.LittleEndian && d.Size() > 1 && !errors.Is(err, ErrByteOrder):
				t.Errorf("As[%s] of %v = %v, want ErrByteOrder", name, d, err)
			}
		}
	}
}

func TestAsValues(t *testing.T) {
	if !memory.LittleEndian {
		t.Skip("views of elements of several bytes need a little-endian host")
	}
	data := le(float32(1), float32(-2.5))
	aligned := memory.Aligned(8)
	copy(aligned, data)
	v, _ := FromBytes("w", Float32, Shape{2}, aligned)
	got, err := As[float32](v)
	if d := cmp.Diff([]float32{1, -2.5}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	c, _ := FromBytes("w", Complex64, Shape{1}, aligned)
	z, err := As[complex64](c)
	if d := cmp.Diff([]complex64{complex(1, -2.5)}, z); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

// TestAsMisaligned: memory that is not aligned is copied, never viewed.
func TestAsMisaligned(t *testing.T) {
	for skip := range 8 {
		b := memory.Aligned(16 + skip)[skip:]
		copy(b, le(float64(1), float64(2)))
		v, err := FromBytes("w", Float64, Shape{2}, b)
		if err != nil {
			t.Fatal(err)
		}
		if v.ZeroCopy() != (skip == 0 && memory.LittleEndian) {
			t.Errorf("skip %d: ZeroCopy %v", skip, v.ZeroCopy())
		}
		if !memory.LittleEndian {
			continue
		}
		s, err := As[float64](v)
		if err != nil {
			t.Fatalf("skip %d: %v", skip, err)
		}
		if d := cmp.Diff([]float64{1, 2}, s); d != "" {
			t.Errorf("skip %d (-want +got)\n%s", skip, d)
		}
	}
}

// TestCast holds the one unsafe conversion to what it promises.
func TestCast(t *testing.T) {
	mem := memory.Aligned(64)
	if _, err := cast[uint32](mem[1:9]); !errors.Is(err, ErrMisaligned) {
		t.Errorf("misaligned: %v", err)
	}
	if _, err := cast[uint32](mem[:7]); !errors.Is(err, ErrShape) {
		t.Errorf("no whole number of elements: %v", err)
	}
	if s, err := cast[uint32](mem[3:3]); err != nil || len(s) != 0 {
		t.Errorf("nothing, misaligned: %v, %v", s, err)
	}
	if s, err := cast[uint16](mem[2:8:10]); err != nil || len(s) != 3 || cap(s) != 3 {
		t.Errorf("three words: %v, %v", s, err)
	}
	// The copying twin agrees.
	for i := range mem {
		mem[i] = byte(3 * i)
	}
	want := make([]uint32, 16)
	decodeCopy(want, mem, 4)
	if got, err := cast[uint32](mem); memory.LittleEndian && (err != nil || !cmp.Equal(want, got)) {
		t.Errorf("cast and decodeCopy differ: %v", err)
	}
}

func TestAsErrorsNameTheTensor(t *testing.T) {
	for want, info := range map[string]Info{
		"int8": {Name: "w", DType: Int8, Shape: Shape{1}, Offset: 64, Size: 1},
		"Q9":   {Name: "w", Encoding: &Encoding{Name: "Q9", BlockElems: 4, BlockBytes: 1}, Shape: Shape{4}, Offset: 64, Size: 1},
	} {
		_, err := As[float32](newView(&info, &owner{}, at(1, 0)))
		want = `test: file.test: at 0x40: tensor "w": wrong dtype: ` + want + ", not float32"
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
