package gguf

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestSplitNumbers: what the metadata say of parts is checked before their names are.
func TestSplitNumbers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []kv
		field   string
		offset  int64
	}{
		{"2^31 parts", []kv{{"split.count", 4, le32(1 << 31)}}, "metadata value", 24 + 8 + 11 + 4},
		{"2^63 parts", []kv{{"split.count", 10, le64(1 << 63)}}, "metadata value", 24 + 8 + 11 + 4},
		{"part 2 of 2, counted from 0", []kv{
			{"split.count", 2, []byte{2, 0}}, {"split.no", 2, []byte{2, 0}}, {"split.tensors.count", 2, []byte{0, 0}},
		}, "split.no", 24 + 8 + 11 + 4 + 2 + 8 + 8 + 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := OpenBytes(fields{magic: "GGUF", version: 3, entries: tt.entries}.bytes(), nil)
			var e *format.Error
			if !errors.Is(err, format.ErrCorrupt) || !errors.As(err, &e) || e.Field != tt.field || e.Offset != tt.offset {
				t.Errorf("%v, want %v in %q at %d", err, format.ErrCorrupt, tt.field, tt.offset)
			}
		})
	}
}

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
