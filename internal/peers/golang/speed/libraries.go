package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
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
	open   func(path string) (opened, error)
	round  func(path string) floor.Round // opens and closes a file
}

// opened is a file opened by a library.
type opened struct {
	tensors func() []entry // nil if the library has no notion of tensors
	close   func() error   // nil if there is nothing to close
}

// entry is a tensor as a library lists it.
type entry struct {
	Name string
	Size int64
}

// in returns a library in this process.
func in(name, format string, open func(path string) (opened, error)) library {
	return library{name, format, open, func(path string) floor.Round {
		return floor.Timed(func() error {
			f, err := open(path)
			if err != nil || f.close == nil {
				return err
			}
			return f.close()
		})
	}}
}

// ours returns the compared formats of this library.
func ours() (all []library) {
	for _, name := range []string{"mag", "tsr", "mle", "wia", "mobi", "safetensors", "gguf"} {
		all = append(all, in("weightmap, "+name, name, openOurs))
	}
	return all
}

// peers returns the other libraries. Figures are relative to the first.
func peers() []library {
	all := []library{
		in("gguf-parser-go, mmap", "gguf", func(path string) (opened, error) { return openParser(path, parser.UseMMap()) }),
		in("gguf-parser-go", "gguf", func(path string) (opened, error) { return openParser(path) }),
		in("ollama fs/ggml", "gguf", openGGML),
		in("ollama fs/gguf", "gguf", openOllama),
		in("nlpodyssey/safetensors, of os.ReadFile", "safetensors", openDeserialized),
		in("os.ReadFile and encoding/json", "safetensors", openByHand),
		in("os.ReadFile", "mag", func(path string) (opened, error) {
			_, err := os.ReadFile(path)
			return opened{}, err
		}),
		in("x/exp/mmap", "mag", func(path string) (opened, error) {
			r, err := mmap.Open(path)
			if err != nil {
				return opened{}, err
			}
			return opened{close: r.Close}, nil
		}),
		in("open, fstat, mmap, munmap, close", "mag", func(path string) (opened, error) { return opened{}, floor.Map(path) }),
	}
	if p := startPython(); p != nil {
		all = append(all, library{"safetensors for Python (Rust)", "safetensors", p.open, p.round})
	}
	return all
}

func openOurs(path string) (opened, error) {
	m, err := format.Open(path, nil)
	if err != nil {
		return opened{}, err
	}
	return opened{func() (all []entry) {
		for name, v := range m.Tensors() {
			all = append(all, entry{name, v.Info().Size})
		}
		return all
	}, m.Close}, nil
}

// openParser uses gguf-parser-go, which unmaps the file before it returns.
func openParser(path string, o ...parser.GGUFReadOption) (opened, error) {
	f, err := parser.ParseGGUFFile(path, o...)
	return opened{tensors: func() (all []entry) {
		for _, t := range f.TensorInfos {
			all = append(all, entry{t.Name, int64(t.Bytes())})
		}
		return all
	}}, err
}

func openGGML(path string) (opened, error) {
	f, err := os.Open(path)
	if err != nil {
		return opened{}, err
	}
	g, err := ggml.Decode(f, -1)
	if err != nil {
		return opened{}, errors.Join(err, f.Close())
	}
	return opened{func() (all []entry) {
		for _, t := range g.Tensors().Items() {
			all = append(all, entry{t.Name, int64(t.Size())})
		}
		return all
	}, f.Close}, nil
}

// openOllama requests all tensors, since the library reads lazily.
func openOllama(path string) (opened, error) {
	f, err := ollama.Open(path)
	if err != nil {
		return opened{}, err
	}
	var all []ollama.TensorInfo
	for _, t := range f.TensorInfos() {
		all = append(all, t)
	}
	return opened{func() (entries []entry) {
		for _, t := range all {
			entries = append(entries, entry{t.Name, t.NumBytes()})
		}
		return entries
	}, f.Close}, nil
}

// listed is a list of tensors without a file.
func listed(all []entry) opened { return opened{tensors: func() []entry { return all }} }

// openDeserialized reads the whole file, as the library requires.
func openDeserialized(path string) (opened, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return opened{}, err
	}
	s, err := safetensors.Deserialize(b)
	var all []entry
	for _, t := range s.Tensors() {
		all = append(all, entry{t.Name, int64(len(t.TensorView.Data()))})
	}
	return listed(all), err
}

// openByHand does what a program without a library would. It checks nothing.
func openByHand(path string) (opened, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return opened{}, err
	}
	header := map[string]struct {
		Type    string    `json:"dtype"`
		Shape   []int64   `json:"shape"`
		Offsets [2]uint64 `json:"data_offsets"`
	}{}
	err = json.Unmarshal(b[8:8+binary.LittleEndian.Uint64(b)], &header)
	var all []entry
	for name, t := range header {
		all = append(all, entry{name, int64(t.Offsets[1] - t.Offsets[0])})
	}
	return listed(all), err
}
