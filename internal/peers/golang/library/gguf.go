package library

import (
	"errors"
	"fmt"
	"io"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
	"github.com/ollama/ollama/fs/ggml"
	ollama "github.com/ollama/ollama/fs/gguf"
)

// Parser opens a file with gguf-parser-go, which lists offsets.
func Parser(path string) (File, error) { return parse(path) }

// Mapped is Parser with the option to map the file. The library unmaps it before it returns.
func Mapped(path string) (File, error) { return parse(path, parser.UseMMap()) }

func parse(path string, o ...parser.GGUFReadOption) (File, error) {
	g, err := parser.ParseGGUFFile(path, o...)
	return File{Tensors: func() (all []Tensor, err error) {
		for _, t := range g.TensorInfos {
			all = append(all, section(path, t.Name, uint64(g.TensorDataStartOffset), t.Offset, t.Bytes()))
		}
		return all, nil
	}}, err
}

// GGML opens a file with ollama's fs/ggml, which lists offsets.
func GGML(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	g, err := ggml.Decode(f, -1)
	if err != nil {
		return File{}, errors.Join(err, f.Close())
	}
	return File{func() (all []Tensor, err error) {
		tensors := g.Tensors()
		for _, t := range tensors.Items() {
			all = append(all, section(path, t.Name, tensors.Offset, t.Offset, t.Size()))
		}
		return all, nil
	}, f.Close}, nil
}

// Ollama opens a file with ollama's fs/gguf. It requests all tensors, since the library reads
// lazily.
func Ollama(path string) (File, error) {
	f, err := ollama.Open(path)
	if err != nil {
		return File{}, err
	}
	var all []Tensor
	for _, t := range f.TensorInfos() {
		n := t.NumBytes()
		all = append(all, Tensor{Name: t.Name, Size: n, Read: func() ([]byte, error) {
			if n == 0 {
				return nil, nil // empty tensors have no section
			}
			_, r, err := f.TensorReader(t.Name)
			if err != nil {
				return nil, err
			}
			b, err := io.ReadAll(r)
			if err == nil && int64(len(b)) != n {
				err = io.ErrUnexpectedEOF
			}
			return b, err
		}})
	}
	return File{listed(all).Tensors, f.Close}, nil
}

// section returns a tensor of n bytes at offset in the data that begins at start. It reads them as
// a careful user would of a library that only lists offsets.
func section(path, name string, start, offset, n uint64) Tensor {
	return Tensor{Name: name, Size: int64(n), Read: func() ([]byte, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		size := uint64(len(b))
		if start > size || offset > size-start || n > size-start-offset {
			return nil, fmt.Errorf("%d bytes at %d of a file of %d", n, offset, size)
		}
		return b[start+offset:][:n], nil
	}}
}
