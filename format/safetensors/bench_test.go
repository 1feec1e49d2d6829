package safetensors

import (
	"testing"

	"github.com/weightmap/weightmap/format"
)

// BenchmarkOpen opens a mapped file of 300 tensors.
func BenchmarkOpen(b *testing.B) {
	path := save(b, b.TempDir(), "m.safetensors", many(300))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkOpenBytes does so in memory: the parser alone.
func BenchmarkOpenBytes(b *testing.B) {
	file := many(300)
	b.ReportAllocs()
	for b.Loop() {
		f, err := format.OpenBytes(file, nil)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
