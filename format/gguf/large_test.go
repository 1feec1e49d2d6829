package gguf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

// larges are entries with values that are read again when they are used, some over a megabyte.
// It returns the values with their types, too.
func larges() (entries []kv, typed []any) {
	const n = 100_000
	var texts []string
	var ints []int32
	var bools []bool
	var text, number, truth [][]byte
	for i := range n {
		s := strconv.Itoa(i) + "\"\x01"
		texts = append(texts, s)
		text = append(text, str(s))
		ints = append(ints, int32(-i))
		number = append(number, le32(uint32(-i)))
		bools = append(bools, i%3 == 0)
		truth = append(truth, []byte{byte(max(0, 1-i%3))})
	}
	var nested []any
	var lists [][]byte
	for i := 0; i < n; i += 1000 {
		nested = append(nested, texts[i:i+1000])
		lists = append(lists, arr(8, text[i:i+1000]...))
	}
	long := strings.Repeat("template", 200_000)
	return []kv{
			{"strings", 9, arr(8, text...)},
			{"numbers", 9, arr(5, number...)},
			{"bools", 9, arr(7, truth...)},
			{"lists of strings", 9, arr(9, lists...)},
			{"a string", 8, str(long)},
			{"the last that is kept", 8, str(strings.Repeat("k", mostKept-8))},
			{"the first that is not", 8, str(strings.Repeat("n", mostKept-7))},
		}, []any{
			texts, ints, bools, nested, long, strings.Repeat("k", mostKept-8), strings.Repeat("n", mostKept-7),
		}
}

// TestLarge: large values are what they are in the file, from a file and from a reader.
func TestLarge(t *testing.T) {
	entries, typed := larges()
	f := small()
	f.entries = append([]kv{{"before", 4, le32(1)}}, append(entries, f.entries...)...)
	file := f.bytes()
	path := filepath.Join(t.TempDir(), "m.gguf")
	expect.OK(t, os.WriteFile(path, file, 0o666))
	want := schema.Metadata{{Key: "before", Value: int64(1)}}
	wantTyped := schema.Metadata{{Key: "before", Value: uint32(1)}}
	for i, e := range entries {
		wantTyped = append(wantTyped, schema.Entry{Key: e.key, Value: typed[i]})
		v := typed[i]
		if e.typ == 9 {
			v = json.RawMessage(expect.Must(json.Marshal(v)))
		}
		want = append(want, schema.Entry{Key: e.key, Value: v})
	}
	for _, way := range []struct {
		name string
		open func() (*format.Model, error)
	}{
		{"file", func() (*format.Model, error) { return format.Open(path, nil) }},
		{"private", func() (*format.Model, error) { return format.Open(path, &format.Options{Private: true}) }},
		{"bytes", func() (*format.Model, error) { return format.OpenBytes(file, nil) }},
		{"reader", func() (*format.Model, error) {
			return format.OpenReaderAt(bytes.NewReader(file), int64(len(file)), nil)
		}},
		{"head", func() (*format.Model, error) {
			return format.OpenHead(file[:len(f.header())], int64(len(file)), nil)
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			m := expect.Got(t, way.open)
			defer m.Close()
			g, _ := From(m)
			meta := expect.Got(t, m.Metadata)
			same(t, want, meta[:len(want)])
			same(t, wantTyped, expect.Got(t, g.Typed)[:len(want)])
			for _, e := range want {
				v, err := m.Value(e.Key)
				expect.OK(t, err)
				same(t, schema.Metadata{e}, schema.Metadata{{Key: e.Key, Value: v}})
			}
			expect.Equal(t, len(want)+3, len(meta))
		})
	}
}

// same compares metadata without printing megabytes.
func same(t *testing.T, want, got schema.Metadata) {
	t.Helper()
	for i, e := range want {
		a, b := expect.Must(json.Marshal(e.Value)), expect.Must(json.Marshal(got[i].Value))
		if e.Key != got[i].Key || !bytes.Equal(a, b) || schema.TypeName(e.Value) != schema.TypeName(got[i].Value) {
			t.Errorf("%s is %s %.60s, want %s %s %.60s", got[i].Key, schema.TypeName(got[i].Value), b, e.Key, schema.TypeName(e.Value), a)
		}
	}
}

// TestLargeBeforeTensors: what is discarded of a large value does not move the record of a tensor
// that is read in two pieces.
func TestLargeBeforeTensors(t *testing.T) {
	var tensors []info
	for i := range 4_000 {
		tensors = append(tensors, info{name: fmt.Sprintf("tensor.%05d", i), dims: []uint64{0}})
	}
	rest := fields{magic: "GGUF", version: 3, tensors: tensors}.header()[headerSize:]
	const recordBytes = 44
	for _, base := range []int{mostKept, 100_000} {
		for size := base; size < base+recordBytes; size++ {
			long := fields{magic: "GGUF", version: 3, count: ptr(uint64(len(tensors))), entries: []kv{
				{"long", 9, cat(le32(0), le64(uint64(size)), make([]byte, size))},
			}}
			m, err := openBytes(cat(long.header(), rest, make([]byte, 64)), nil)
			if err != nil {
				t.Errorf("after %d bytes: %v", size, err)
				continue
			}
			expect.Equal(t, len(tensors), m.Len())
			expect.OK(t, m.Close())
		}
	}
}

// TestEntriesThatAreNotThere: the number of entries takes no memory if the size of the file is not
// known.
func TestEntriesThatAreNotThere(t *testing.T) {
	for _, n := range []uint64{1 << 28, 1 << 58} {
		f := fields{magic: "GGUF", version: 3, kvCount: ptr(n), entries: []kv{{"k", 4, le32(1)}}}
		var first, then runtime.MemStats
		runtime.ReadMemStats(&first)
		_, err := format.OpenHead(f.bytes(), 0, nil)
		runtime.ReadMemStats(&then)
		if !errors.Is(err, format.ErrTruncated) {
			t.Errorf("%d entries: %v", n, err)
		}
		if taken := then.TotalAlloc - first.TotalAlloc; taken > 256<<20 {
			t.Errorf("%d entries take %d bytes", n, taken)
		}
	}
}

// TestLargeMalformed: what is wrong in a large value is found when the file is opened, and named.
func TestLargeMalformed(t *testing.T) {
	entries, _ := larges()
	for _, c := range []struct {
		name  string
		entry int
		at    int // in the value
		b     byte
		want  error
		text  string
	}{
		{"a bool", 2, 12 + 50_001, 2, format.ErrCorrupt, `at 0xc397: metadata value: corrupt: 2 is no bool (key "bools")`},
		{"a length", 0, len(entries[0].value) - 10, 0xff, format.ErrTruncated, `(key "strings")`},
		{"a type in a list", 3, 12 + 12 + 12_890, 77, format.ErrUnsupported, `metadata array type: unsupported: unknown type 77 (key "lists of strings")`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := entries[c.entry]
			e.value = bytes.Clone(e.value)
			e.value[c.at] = c.b
			_, err := openBytes(fields{magic: "GGUF", version: 3, entries: []kv{{"k", 4, le32(1)}, e}}.bytes(), nil)
			expect.Says(t, c.want, c.text)(nil, err)
		})
	}
}

// TestLargeChanged: a large value that is not what Parse has read any more is refused, and what is
// in memory is not.
func TestLargeChanged(t *testing.T) {
	entries, _ := larges()
	f := fields{magic: "GGUF", version: 3, entries: append([]kv{{"small", 4, le32(1)}}, entries...)}
	at := bytes.Index(f.bytes(), []byte("99999\"")) // in "strings", and later in the lists
	disk := errors.New("disk")
	for _, c := range []struct {
		name   string
		change func(b *breaking)
		want   error
	}{
		{"changed", func(b *breaking) { b.file[at]++ }, format.ErrCorrupt},
		{"cut", func(b *breaking) { b.file = b.file[:at] }, format.ErrTruncated},
		{"failing", func(b *breaking) { b.err = disk }, disk},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := f.bytes()
			b := &breaking{file: file}
			m, err := format.OpenReaderAt(b, int64(len(file)), nil)
			expect.OK(t, err)
			defer m.Close()
			g, _ := From(m)
			c.change(b)
			for what, f := range map[string]func() (any, error){
				"Value":    func() (any, error) { return m.Value("strings") },
				"Metadata": func() (any, error) { return m.Metadata() },
				"Typed":    func() (any, error) { return g.Typed() },
				"Schema":   func() (any, error) { return m.Schema() },
			} {
				_, err := f()
				if !errors.Is(err, c.want) {
					t.Errorf("%s: %v", what, err)
				}
			}
			v, err := m.Value("small")
			expect.OK(t, err)
			expect.Equal(t, int64(1), v)
		})
	}
}

// breaking is a reader that is changed after opening.
type breaking struct {
	file []byte
	err  error
}

func (b *breaking) ReadAt(p []byte, off int64) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if off > int64(len(b.file)) {
		return 0, io.EOF
	}
	return bytes.NewReader(b.file).ReadAt(p, off)
}

// TestLargeMemory: opening takes the memory of an index, and keeps that. What it reads the
// vocabulary with is returned.
func TestLargeMemory(t *testing.T) {
	file := vocabulary(150_000)
	path := filepath.Join(t.TempDir(), "m.gguf")
	expect.OK(t, os.WriteFile(path, file, 0o666))
	live := func() int64 {
		var s runtime.MemStats
		for range 3 { // pools are emptied by two
			runtime.GC()
		}
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	before := live()
	m, err := Open(path, nil)
	expect.OK(t, err)
	kept := live() - before
	if kept > 100<<10 {
		t.Errorf("an open file of %d bytes keeps %d", len(file), kept)
	}
	_, err = m.Value("tokenizer.ggml.tokens")
	expect.OK(t, err)
	if kept := live() - before; kept > 100<<10 {
		t.Errorf("%d bytes after reading a value", kept)
	}
	expect.OK(t, m.Close())
	runtime.KeepAlive(file)
	var first, then runtime.MemStats
	runtime.ReadMemStats(&first)
	m, err = Open(path, nil)
	expect.OK(t, err)
	runtime.ReadMemStats(&then)
	expect.OK(t, m.Close())
	if n := then.TotalAlloc - first.TotalAlloc; n > 2<<20 {
		t.Errorf("opening a file of %d bytes with empty pools takes %d", len(file), n)
	}
}
