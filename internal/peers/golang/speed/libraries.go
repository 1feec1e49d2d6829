package main

import (
	"errors"
	"io"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
	"github.com/ollama/ollama/fs/ggml"
	ollama "github.com/ollama/ollama/fs/gguf"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"golang.org/x/exp/mmap"
)

// library opens models.
type library struct {
	name   string
	format string // of the files that it reads
	ours   bool
	open   func(path string) (opened, error)
}

// opened is what a library made of a file.
type opened interface {
	// Tensors lists what was found, nil for what has no idea of tensors.
	Tensors() []entry
	Close() error
}

// ours are the formats of this library that are compared.
func ours() (all []library) {
	for _, name := range []string{"mag", "tsr", "mle", "wia", "mobi", "safetensors", "gguf"} {
		all = append(all, library{"weightmap, " + name, name, true, openOurs})
	}
	return all
}

// Names of libraries that figures are in terms of.
const (
	gpustack = "gguf-parser-go, mmap"
	fsggml   = "ollama fs/ggml"
	bare     = "open, fstat, mmap, munmap, close"
)

// peers are the others.
func peers() []library {
	return []library{
		{gpustack, "gguf", false, func(path string) (opened, error) { return openParser(path, parser.UseMMap()) }},
		{"gguf-parser-go", "gguf", false, func(path string) (opened, error) { return openParser(path) }},
		{fsggml, "gguf", false, openGGML},
		{"ollama fs/gguf", "gguf", false, openOllama},
		{"os.ReadFile", "mag", false, func(path string) (opened, error) {
			_, err := os.ReadFile(path)
			return nothing{}, err
		}},
		{"x/exp/mmap", "mag", false, func(path string) (opened, error) {
			r, err := mmap.Open(path)
			return nothing{r}, err
		}},
		{bare, "mag", false, func(path string) (opened, error) { return nothing{}, floor.Map(path) }},
	}
}

// nothing has no idea of tensors.
type nothing struct{ io.Closer }

func (nothing) Tensors() []entry { return nil }

func (n nothing) Close() error {
	if n.Closer == nil {
		return nil
	}
	return n.Closer.Close()
}

// model of ours, mapped until it is closed.
type mapped struct{ *format.Model }

func openOurs(path string) (opened, error) {
	m, err := format.Open(path, nil)
	return mapped{m}, err
}

func (m mapped) Tensors() (all []entry) {
	for name, v := range m.Model.Tensors() {
		all = append(all, entry{name, v.Info().Size})
	}
	return all
}

// parsedFile is what gguf-parser-go leaves: it unmaps the file before it returns.
type parsedFile struct{ *parser.GGUFFile }

func openParser(path string, o ...parser.GGUFReadOption) (opened, error) {
	f, err := parser.ParseGGUFFile(path, o...)
	return parsedFile{f}, err
}

func (f parsedFile) Tensors() (all []entry) {
	for _, t := range f.TensorInfos {
		all = append(all, entry{t.Name, int64(t.Bytes())})
	}
	return all
}

func (parsedFile) Close() error { return nil }

type ggmlFile struct {
	*os.File
	*ggml.GGML
}

func openGGML(path string) (opened, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	g, err := ggml.Decode(f, -1)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return ggmlFile{f, g}, nil
}

func (f ggmlFile) Tensors() (all []entry) {
	for _, t := range f.GGML.Tensors().Items() {
		all = append(all, entry{t.Name, int64(t.Size())})
	}
	return all
}

// ollamaFile reads what it is asked for: opening is asking for all tensors.
type ollamaFile struct {
	*ollama.File
	tensors []ollama.TensorInfo
}

func openOllama(path string) (opened, error) {
	f, err := ollama.Open(path)
	if err != nil {
		return nil, err
	}
	o := ollamaFile{File: f}
	for _, t := range f.TensorInfos() {
		o.tensors = append(o.tensors, t)
	}
	return o, nil
}

func (f ollamaFile) Tensors() (all []entry) {
	for _, t := range f.tensors {
		all = append(all, entry{t.Name, t.NumBytes()})
	}
	return all
}
