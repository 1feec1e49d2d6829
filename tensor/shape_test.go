package tensor

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

func TestShapeSizes(t *testing.T) {
	const big = 1 << 31
	for _, tt := range []struct {
		name  string
		shape Shape
		dtype DType
		elems int64 // -1: ErrShape
		bytes int64
	}{
		{"scalar", Shape{}, Float64, 1, 8},
		{"nil", nil, Int16, 1, 2},
		{"vector", Shape{7}, Float16, 7, 14},
		{"matrix", Shape{3, 5}, Complex64, 15, 120},
		{"empty", Shape{0}, Float32, 0, 0},
		{"empty among others", Shape{3, 0, 5}, Float32, 0, 0},
		{"negative", Shape{-1}, Float32, -1, -1},
		{"negative and zero", Shape{0, -1}, Float32, -1, -1},
		{"least", Shape{math.MinInt64}, Float32, -1, -1},
		{"largest of bytes", Shape{math.MaxInt64}, Uint8, math.MaxInt64, math.MaxInt64},
		{"elements fit, bytes do not", Shape{math.MaxInt64}, Int16, math.MaxInt64, -1},
		{"just fits", Shape{big, big}, Int8, 1 << 62, 1 << 62},
		{"2^63", Shape{big, big, 2}, Int8, -1, -1},
		{"2^63 bytes", Shape{big, big}, Int16, 1 << 62, -1},
		{"wraps to a small number", Shape{1 << 32, 1 << 32, 3}, Int8, -1, -1},
		{"overflow before a zero", Shape{big, big, 2, 0}, Int8, -1, -1},
		{"overflow after a zero", Shape{0, big, big, 2}, Int8, -1, -1},
		{"bytes overflow before a zero", Shape{big, 0, big}, Int16, 0, -1},
		{"largest, and a zero", Shape{math.MaxInt64, 0}, Int8, 0, 0},
		{"a dim of 2^62 and the itemsize", Shape{1 << 62}, Float32, 1 << 62, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(what string, got int64, err error, want int64) {
				t.Helper()
				if want < 0 {
					if !errors.Is(err, ErrShape) {
						t.Errorf("%s = %d, %v, want ErrShape", what, got, err)
					}
				} else if err != nil || got != want {
					t.Errorf("%s = %d, %v, want %d", what, got, err, want)
				}
			}
			elems, err := tt.shape.Elems()
			check("Elems", elems, err, tt.elems)
			bytes, err := tt.shape.ByteSize(tt.dtype)
			check("ByteSize", bytes, err, tt.bytes)
		})
	}
	for _, d := range []DType{Invalid, numDTypes, 255} {
		if n, err := (Shape{0}).ByteSize(d); !errors.Is(err, ErrDType) {
			t.Errorf("ByteSize(%v) = %d, %v", d, n, err)
		}
	}
}

func TestShapeString(t *testing.T) {
	for _, tt := range []struct {
		shape Shape
		want  string
	}{
		{nil, "[]"},
		{Shape{3}, "[3]"},
		{Shape{-1, 0, 5}, "[-1, 0, 5]"},
		{make(Shape, 40), "[" + strings.Repeat("0, ", 32) + "... 8 more]"},
	} {
		if got := tt.shape.String(); got != tt.want {
			t.Errorf("String = %q, want %q", got, tt.want)
		}
	}
}

func TestEncodingBytes(t *testing.T) {
	e := &Encoding{Name: "Q4_0", BlockElems: 32, BlockBytes: 18}
	for _, tt := range []struct {
		name  string
		shape Shape
		want  int64
		bad   bool
	}{
		{"a row", Shape{64}, 36, false},
		{"rows", Shape{3, 32}, 54, false},
		{"empty", Shape{0, 32}, 0, false},
		{"half a block", Shape{2, 16}, 0, true},
		{"scalar", nil, 0, true},
		{"overflow", Shape{1 << 40, 1 << 40}, 0, true},
		{"negative", Shape{-32}, 0, true},
	} {
		got, err := e.Bytes(tt.shape)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %d, %v", tt.name, got, err)
		}
	}
	single := &Encoding{Name: "complex128", BlockElems: 1, BlockBytes: 16}
	for _, tt := range []struct {
		shape Shape
		want  int64
	}{{nil, 16}, {Shape{2, 3}, 96}, {Shape{3, 0}, 0}} {
		if got, err := single.Bytes(tt.shape); got != tt.want || err != nil {
			t.Errorf("%v in blocks of one: %d, %v", tt.shape, got, err)
		}
	}
	for _, e := range []Encoding{{Name: "X"}, {BlockBytes: 1}, {BlockElems: 1}} {
		expect.Refused(t, ErrDType, e, "has a size")(e.Bytes(Shape{1}))
	}
}
