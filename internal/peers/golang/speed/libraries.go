package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
	"github.com/nlpodyssey/safetensors"
	"github.com/ollama/ollama/fs/ggml"
	ollama "github.com/ollama/ollama/fs/gguf"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"golang.org/x/exp/mmap"
)

// library opens models.
type library struct {
	name   string
	format string // of the files it reads
	ours   bool
	open   func(path string) (opened, error)
	round  func(path string) floor.Round // instead of open, for other processes
}

// opened is a file opened by a library.
type opened interface {
	// Tensors lists the tensors; nil if the library has no notion of tensors.
	Tensors() []entry
	Close() error
}

// ours returns the compared formats of this library.
func ours() (all []library) {
	for _, name := range []string{"mag", "tsr", "mle", "wia", "mobi", "safetensors", "gguf"} {
		all = append(all, library{"weightmap, " + name, name, true, openOurs, nil})
	}
	return all
}

// Names of libraries that figures are relative to.
const (
	gpustack = "gguf-parser-go, mmap"
	fsggml   = "ollama fs/ggml"
	bare     = "open, fstat, mmap, munmap, close"
)

// peers returns the other libraries.
func peers() []library {
	all := []library{
		{gpustack, "gguf", false, func(path string) (opened, error) { return openParser(path, parser.UseMMap()) }, nil},
		{"gguf-parser-go", "gguf", false, func(path string) (opened, error) { return openParser(path) }, nil},
		{fsggml, "gguf", false, openGGML, nil},
		{"ollama fs/gguf", "gguf", false, openOllama, nil},
		{"nlpodyssey/safetensors, of os.ReadFile", "safetensors", false, openDeserialized, nil},
		{"os.ReadFile and encoding/json", "safetensors", false, openByHand, nil},
		{"os.ReadFile", "mag", false, func(path string) (opened, error) {
			_, err := os.ReadFile(path)
			return nothing{}, err
		}, nil},
		{"x/exp/mmap", "mag", false, func(path string) (opened, error) {
			r, err := mmap.Open(path)
			return nothing{r}, err
		}, nil},
		{bare, "mag", false, func(path string) (opened, error) { return nothing{}, floor.Map(path) }, nil},
	}
	if p := startPython(); p != nil {
		all = append(all, library{"safetensors for Python (Rust)", "safetensors", false, p.open, p.round})
	}
	return all
}

// nothing is a file opened without any notion of tensors.
type nothing struct{ io.Closer }

func (nothing) Tensors() []entry { return nil }

func (n nothing) Close() error {
	if n.Closer == nil {
		return nil
	}
	return n.Closer.Close()
}

// mapped is a model of this library, mapped until it is closed.
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

// parsedFile is the result of gguf-parser-go, which unmaps the file before it returns.
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

// ollamaFile reads lazily, so opening requests all tensors.
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

// openDeserialized reads the whole file, as the library requires.
func openDeserialized(path string) (opened, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := safetensors.Deserialize(b)
	if err != nil {
		return nil, err
	}
	var all entries
	for _, t := range s.Tensors() {
		all = append(all, entry{t.Name, int64(len(t.TensorView.Data()))})
	}
	return all, nil
}

// openByHand does what a program without a library would. It checks nothing.
func openByHand(path string) (opened, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	header := map[string]struct {
		Type    string    `json:"dtype"`
		Shape   []int64   `json:"shape"`
		Offsets [2]uint64 `json:"data_offsets"`
	}{}
	if err := json.Unmarshal(b[8:8+binary.LittleEndian.Uint64(b)], &header); err != nil {
		return nil, err
	}
	var all entries
	for name, t := range header {
		all = append(all, entry{name, int64(t.Offsets[1] - t.Offsets[0])})
	}
	return all, nil
}

// entries is a list of tensors without a file.
type entries []entry

func (e entries) Tensors() []entry { return e }

func (entries) Close() error { return nil }
