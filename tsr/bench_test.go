package tsr

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Every figure stands next to a floor measured in the same run: the bare
// mapping for Open, reading every byte for Verify, one write for Write.

const benchBytes = 64 << 20

// read keeps what sum returns, so that the compiler cannot do without it.
var read byte

// sum reads a byte of every page.
func sum(p []byte) (x byte) {
	for i := 0; i < len(p); i += 4096 {
		x += p[i]
	}
	return x
}

// benchFile writes a tensor of n bytes and returns its path.
func benchFile(b *testing.B, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "w.tsr")
	h := encode(&tensor.Info{DType: tensor.Float32, Shape: tensor.Shape{int64(n / 4)}, Size: int64(n)})
	if err := os.WriteFile(path, append(h, make([]byte, n)...), 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkOpen(b *testing.B) {
	path := benchFile(b, 1<<20)
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := source.Open(path, source.Options{})
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
	b.Run("file", func(b *testing.B) { benchOpen(b, path) })
	dir := b.TempDir()
	for i := range 100 {
		if err := os.Link(path, filepath.Join(dir, strconv.Itoa(i)+extension)); err != nil {
			b.Skip(err)
		}
	}
	b.Run("directory of 100", func(b *testing.B) { benchOpen(b, dir) })
}

func benchOpen(b *testing.B, path string) {
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkVerify(b *testing.B) {
	path := benchFile(b, benchBytes)
	f, err := Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			if err := f.At(0).Use(func(p []byte) error { read = sum(p); return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("file", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			if _, err := f.Verify(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	data := make([]byte, benchBytes)
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{benchBytes / 4}}}}
	path := filepath.Join(b.TempDir(), "w.tsr")
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			if err := os.WriteFile(path+".tmp", data, 0o666); err != nil {
				b.Fatal(err)
			}
			if err := os.Rename(path+".tmp", path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("file", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			w, err := Create(path, plan, &WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
			benchWrite(b, w, err, data)
		}
	})
	b.Run("stream", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			w, err := NewWriter(io.Discard, plan, nil)
			benchWrite(b, w, err, data)
		}
	})
}

func benchWrite(b *testing.B, w format.Writer, err error, data []byte) {
	if err == nil {
		err = w.WriteTensor("w", bytes.NewReader(data))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}
