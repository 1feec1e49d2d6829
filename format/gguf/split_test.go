package gguf

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// parts are the three files of a split model, as llama.cpp makes them.
func parts() []fields {
	var list []fields
	for i := range 3 {
		f := fields{magic: "GGUF", version: 3}
		if i == 0 {
			f.entries = append(f.entries, kv{"general.name", 8, str("split")})
		}
		f.entries = append(f.entries,
			kv{"split.no", 2, []byte{byte(i), 0}}, kv{"split.count", 2, []byte{3, 0}}, kv{"split.tensors.count", 5, le32(4)})
		list = append(list, f)
	}
	list[1].entries = append(list[1].entries, kv{"general.alignment", 4, le32(64)})
	list[1].align = 64
	for i, n := range []string{"a", "b"} {
		list[1].tensors = append(list[1].tensors, info{name: n, dims: []uint64{3}, typ: 24, data: []byte{byte(i), 2, 3}})
	}
	list[2].tensors = []info{{name: "c", dims: []uint64{2}, typ: 0, data: floats(2)}, {name: "d", dims: []uint64{1}, typ: 24, data: []byte{9}}}
	return list
}

func partName(i, n int) string { return fmt.Sprintf("m-%05d-of-%05d.gguf", i, n) }

func TestSplit(t *testing.T) {
	testhost.NeedMaps(t)
	m, err := Open(filepath.Join("testdata", "corpus", "split-in-three", partName(1, 3)), nil)
	expect.OK(t, err)
	defer m.Close()
	if len(m.f.parts) != 3 || m.Len() != 4 || m.Notes() != nil || m.f.parts[0].align != 32 {
		t.Errorf("%d parts, %d tensors, %q", len(m.f.parts), m.Len(), m.Notes())
	}
	expect.Equal(t, schema.Metadata{{Key: "general.name", Value: "split"}}, expect.Got(t, m.Metadata))
	for key, want := range map[string]any{"general.name": "split", "split.count": nil, "split.no": nil} {
		got, err := m.Value(key)
		if got != want || (want == nil) != errors.Is(err, format.ErrNotFound) {
			t.Errorf("%s: %v, %v, want %v", key, got, err, want)
		}
	}
	// The copy is one file.
	s, err := m.Schema()
	expect.OK(t, err)
	want := dataOf(t, m)
	one := open(t, write(t, s, nil, want))
	if diff := cmp.Diff(want, dataOf(t, one)); diff != "" || len(one.f.parts) != 1 || one.Notes() != nil {
		t.Error(diff, one.Notes())
	}
}

// badSplit is a model of three files that does not open.
type badSplit struct {
	name   string
	mutate func([]fields)
	err    error
	field  string
	offset int64
	part   int // whose path the error has
}

func badSplits() []badSplit {
	edit := func(part int, key string, change func(*kv)) func([]fields) {
		return func(list []fields) {
			for i := range list[part].entries {
				if e := &list[part].entries[i]; e.key == key {
					change(e)
				}
			}
		}
	}
	set := func(part int, key string, typ uint32, value []byte) func([]fields) {
		return edit(part, key, func(e *kv) { e.typ, e.value = typ, value })
	}
	drop := func(part int, key string) func([]fields) { return edit(part, key, func(e *kv) { e.key = "other" }) }
	return []badSplit{
		{"a part is missing", func(l []fields) { l[1] = fields{} }, format.ErrTruncated, "split.count", 106, 1},
		{"count differs from the name", set(0, "split.count", 2, []byte{2, 0}), format.ErrCorrupt, "split.count", 106, 1},
		{"number differs from the name", set(0, "split.no", 2, []byte{1, 0}), format.ErrCorrupt, "split.no", 81, 1},
		{"number beyond the count", set(0, "split.no", 2, []byte{3, 0}), format.ErrCorrupt, "split.no", 81, 1},
		{"no number", drop(0, "split.no"), format.ErrCorrupt, "split.no", 103, 1},
		{"no number of tensors", drop(0, "split.tensors.count"), format.ErrCorrupt, "split.tensors.count", 106, 1},
		{"too many tensors", set(0, "split.tensors.count", 5, le32(3)), format.ErrCorrupt, "split.tensors.count", 102, 2},
		{"too few tensors everywhere", func(l []fields) {
			for i := range l {
				set(i, "split.tensors.count", 5, le32(5))(l)
			}
		}, format.ErrCorrupt, "split.tensors.count", 139, 1},
		{"second has another number", set(1, "split.no", 2, []byte{2, 0}), format.ErrCorrupt, "split.no", 44, 2},
		{"third has no number", drop(2, "split.no"), format.ErrCorrupt, "split.no", 0, 3},
		{"third has another count", set(2, "split.count", 2, []byte{4, 0}), format.ErrCorrupt, "split.count", 69, 3},
		{"third is no GGUF file", func(l []fields) { l[2].magic = "GGML" }, format.ErrMagic, "magic", 0, 3},
		{"name in two parts", func(l []fields) { l[2].tensors[1].name = "a" }, format.ErrCorrupt, "tensor name", 147, 3},
		{"data of a part is cut", func(l []fields) { l[2].lack = 32 }, format.ErrTruncated, "tensor offset", 164, 3},
	}
}
