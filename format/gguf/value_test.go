package gguf

import (
	"errors"
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
