package gguf

import (
	"encoding/json"
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// vocabulary is a file with a list of n tokens, and entries before and behind it.
func vocabulary(n int) []byte {
	tokens := make([][]byte, n)
	for i := range tokens {
		tokens[i] = str("token" + strconv.Itoa(i))
	}
	return fields{magic: "GGUF", version: 3, entries: []kv{
		{"general.name", 8, str("m")},
		{"tokenizer.ggml.tokens", 9, arr(8, tokens...)},
		{"tokenizer.ggml.bos_token_id", 4, le32(1)},
		{"general.name", 8, str("again")},
	}}.bytes()
}

// TestValue: Value has what Metadata has, the first of equal keys, and allocates what one value takes.
func TestValue(t *testing.T) {
	m := open(t, vocabulary(10_000))
	meta, err := m.Metadata()
	expect.OK(t, err)
	for _, e := range meta {
		want, _ := meta.Get(e.Key)
		expect.Equal(t, want, expect.Got(t, func() (any, error) { return m.Value(e.Key) }))
	}
	_, err = m.Value("tokenizer")
	expect.Refused(t, format.ErrNotFound, "a key that is not there")(nil, err)
	allocs := testing.AllocsPerRun(10, func() {
		_, err := m.Value("tokenizer.ggml.bos_token_id")
		expect.OK(t, err)
	})
	if allocs > 10 {
		t.Errorf("%v allocations for a number", allocs)
	}
	expect.OK(t, m.Close())
	_, err = m.Value("general.name")
	if !errors.Is(err, format.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestValueMemory: reading a vocabulary takes the memory of the value, and opening that of the
// metadata and what collecting it takes.
func TestValueMemory(t *testing.T) {
	const tokens = 20_000
	file := vocabulary(tokens)
	allocated := func(f func()) (bytes, allocs float64) {
		const runs = 10
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // pools are per processor
		var before, after runtime.MemStats
		f()
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / runs, float64(after.Mallocs-before.Mallocs) / runs
	}
	m := open(t, file)
	bytes, allocs := allocated(func() {
		_, err := m.Value("tokenizer.ggml.tokens")
		expect.OK(t, err)
	})
	text, _ := expect.Must(m.Value("tokenizer.ggml.tokens")).(json.RawMessage)
	if most := 1.1*float64(len(text)) + 1000; bytes > most || allocs > 10 {
		t.Errorf("%.0f bytes in %.0f allocations for %d bytes of JSON", bytes, allocs, len(text))
	}
	bytes, allocs = allocated(func() {
		_, err := m.Typed()
		expect.OK(t, err)
	})
	if most := 16*tokens + float64(len(file)); bytes > most || allocs > 50 {
		t.Errorf("%.0f bytes in %.0f allocations for all values", bytes, allocs)
	}
	bytes, _ = allocated(func() { expect.OK(t, open(t, file).Close()) })
	if most := 3 * float64(len(file)); bytes > most {
		t.Errorf("%.0f bytes to open a file of %d", bytes, len(file))
	}
}

// BenchmarkValue reads one key of a file with 150,000 tokens; BenchmarkMetadata reads all.
func BenchmarkValue(b *testing.B) {
	m := open(b, vocabulary(150_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Value("tokenizer.ggml.bos_token_id"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMetadata(b *testing.B) {
	m := open(b, vocabulary(150_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Metadata(); err != nil {
			b.Fatal(err)
		}
	}
}
