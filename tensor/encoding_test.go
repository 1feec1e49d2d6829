package tensor

import (
	"errors"
	"testing"
)

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
		if _, err := e.Bytes(Shape{1}); !errors.Is(err, ErrDType) {
			t.Errorf("%+v has a size: %v", e, err)
		}
	}
}
