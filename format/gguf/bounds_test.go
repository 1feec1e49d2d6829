package gguf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
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
	for _, name := range []string{"m-0000x-of-00003.gguf", "m-00001-of-0000-.gguf"} {
		if _, _, _, ok := splitPath(filepath.Join("d", name)); ok {
			t.Errorf("%s is the name of a part", name)
		}
	}
}

// TestBlockSizes: a decoder gets whole blocks, and as many elements.
func TestBlockSizes(t *testing.T) {
	e := elementTypeOf(2).encoding // Q4_0: 32 elements in 18 bytes
	for _, n := range []struct{ elems, bytes int }{{40, 18}, {32, 20}, {32, 36}, {64, 18}} {
		if err := e.Decode(make([]float32, n.elems), make([]byte, n.bytes)); !errors.Is(err, format.ErrShape) {
			t.Errorf("%d elements of %d bytes: %v", n.elems, n.bytes, err)
		}
	}
}

// TestWindows: a structure is read in pieces whose ends fall anywhere, when its
// records are like those before, grow or shrink; so is one with a fault in the last.
func TestWindows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		chars func(i int) int
	}{
		{"alike", func(int) int { return 300 }},
		{"growing", func(i int) int { return 10 + i }},
		{"shrinking", func(i int) int { return 610 - i }},
		{"one large", func(i int) int { return 300 + 300_000*(i/599) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fields{magic: "GGUF", version: 3}
			for i := range 600 {
				name := fmt.Sprintf("%0*d", tt.chars(i), i)
				f.tensors = append(f.tensors, info{name: name, dims: []uint64{2}, typ: 24, data: []byte{byte(i), byte(i >> 8)}})
			}
			b := f.bytes()
			m, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for i, want := range f.tensors {
				v := m.At(i)
				got, err := v.Bytes()
				if err != nil || v.Name() != want.name || !bytes.Equal(got, want.data) {
					t.Fatalf("tensor %d is %.20q: %v, %v", i, v.Name(), got, err)
				}
			}
			f.tensors[599].name = ""
			b = f.bytes()
			if _, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil); !errors.Is(err, format.ErrCorrupt) {
				t.Errorf("no name: %v", err)
			}
		})
	}
}

// TestMixedArrays: an array of the neutral metadata has one type and 8 levels.
func TestMixedArrays(t *testing.T) {
	for _, text := range []string{`["a", 1]`, `[1, "a"]`, `[true, 1]`, `[[1], 2]`, `[[[[[[[[[1]]]]]]]]]`} {
		if v, err := parseArray(json.RawMessage(text)); !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	var deep any = []int32{1}
	for range maxDepth {
		deep = []any{deep}
	}
	if _, err := appendValue(nil, deep); !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("arrays %d deep are written: %v", maxDepth+1, err)
	}
}

// TestVerifyNoticesStructure: Verify reads the structure again, and every part of it
// that changed since the file was opened is an error.
func TestVerifyNoticesStructure(t *testing.T) {
	two := func() fields {
		return fields{magic: "GGUF", version: 3, entries: []kv{{"key", 4, le32(7)}}, tensors: []info{
			{name: "a", dims: []uint64{2, 3}, typ: 0, data: floats(6)},
			{name: "b", dims: []uint64{2, 3}, typ: 0, data: floats(6)},
		}}
	}
	for _, tt := range []struct {
		name   string
		change func(*fields)
	}{
		{"version", func(f *fields) { f.version = 2 }},
		{"a value", func(f *fields) { f.entries[0].value = le32(8) }},
		{"number of tensors", func(f *fields) { f.count = ptr(uint64(1)) }},
		{"a name", func(f *fields) { f.tensors[1].name = "c" }},
		{"a type", func(f *fields) { f.tensors[1].typ = 26 }},
		{"a shape", func(f *fields) { f.tensors[1].dims = []uint64{3, 2} }},
		{"an offset", func(f *fields) { f.tensors[1].offset = ptr(uint64(0)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := two()
			b := f.bytes()
			m, err := OpenBytes(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if _, err := m.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
			tt.change(&f)
			other := f.bytes()
			if len(other) != len(b) || bytes.Equal(other, b) {
				t.Fatalf("%d bytes instead of %d others", len(other), len(b))
			}
			copy(b, other)
			_, err = m.Verify(t.Context())
			var e *format.Error
			if !errors.Is(err, format.ErrCorrupt) || !errors.As(err, &e) || e.Field != "header" || e.Offset != 0 {
				t.Errorf("Verify: %v, want %v in the header", err, format.ErrCorrupt)
			}
		})
	}
}
