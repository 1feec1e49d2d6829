package gguf

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestBlockSizes: a decoder gets whole blocks, and as many elements.
func TestBlockSizes(t *testing.T) {
	e := elementTypes[2].encoding // Q4_0: 32 elements in 18 bytes
	for _, n := range []struct{ elems, bytes int }{{40, 18}, {32, 20}, {32, 36}, {64, 18}} {
		if err := e.Decode(make([]float32, n.elems), make([]byte, n.bytes)); !errors.Is(err, format.ErrShape) {
			t.Errorf("%d elements of %d bytes: %v", n.elems, n.bytes, err)
		}
	}
}

// TestMixedArrays: an array of the neutral metadata has one type and 8 levels.
func TestMixedArrays(t *testing.T) {
	for _, text := range []string{`["a", 1]`, `[1, "a"]`, `[true, 1]`, `[[1], 2]`, `[[[[[[[[[1]]]]]]]]]`, "[\"a\", \"\xff\"]"} {
		if v, err := chosen(json.RawMessage(text)); !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	var deep any = []int32{1}
	for range maxDepth {
		deep = []any{deep}
	}
	for _, v := range []any{deep, []any{uint8(1)}} {
		if _, err := appendEntry(nil, format.Entry{Value: v}, nil); !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("%v is written: %v", v, err)
		}
	}
}
