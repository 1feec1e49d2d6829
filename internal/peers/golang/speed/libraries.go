package main

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/peers/golang/library"
)

// opener opens models.
type opener struct {
	name   string
	format string // of the files it reads
	open   func(path string) (library.File, error)
	round  func(path string) floor.Round // opens and closes a file
}

// in returns a library in this process.
func in(name, format string, open func(path string) (library.File, error)) opener {
	return opener{name, format, open, func(path string) floor.Round {
		return floor.Timed(func() error {
			f, err := open(path)
			if err != nil || f.Close == nil {
				return err
			}
			return f.Close()
		})
	}}
}

// ours returns the compared formats of this library.
func ours() (all []opener) {
	for _, name := range []string{"mag", "tsr", "mle", "wia", "mobi", "safetensors", "gguf"} {
		all = append(all, in("weightmap, "+name, name, library.Weightmap))
	}
	return all
}

// peers returns the other libraries. Figures are relative to the first.
func peers() []opener {
	all := []opener{
		in("gguf-parser-go, mmap", "gguf", library.Mapped),
		in("gguf-parser-go", "gguf", library.Parser),
		in("ollama fs/ggml", "gguf", library.GGML),
		in("ollama fs/gguf", "gguf", library.Ollama),
		in("nlpodyssey/safetensors, of os.ReadFile", "safetensors", library.Safetensors),
		in("os.ReadFile and encoding/json", "safetensors", openByHand),
		in("open, fstat, mmap, munmap, close", "mag", func(path string) (library.File, error) { return library.File{}, floor.Map(path) }),
	}
	for _, python := range []string{"python3", os.Getenv("WEIGHTMAP_PYTHON")} {
		if exec.Command(python, "-c", "import safetensors").Run() == nil {
			return append(all, inPython(python))
		}
	}
	log.Print("no Python has safetensors: it is left out")
	return all
}

// openByHand does what a program without a library would. It checks nothing.
func openByHand(path string) (library.File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return library.File{}, err
	}
	header := map[string]struct {
		Type    string    `json:"dtype"`
		Shape   []int64   `json:"shape"`
		Offsets [2]uint64 `json:"data_offsets"`
	}{}
	err = json.Unmarshal(b[8:8+binary.LittleEndian.Uint64(b)], &header)
	return library.File{Tensors: func() (all []library.Tensor, err error) {
		for name, t := range header {
			all = append(all, library.Tensor{Name: name, Size: int64(t.Offsets[1] - t.Offsets[0])})
		}
		return all, nil
	}}, err
}

//go:embed safetensors.py
var script string

// inPython returns safetensors for Python. The script measures the time.
func inPython(python string) opener {
	round := func(path string) floor.Round {
		return func(n int) (time.Duration, error) {
			out, err := exec.Command(python, "-c", script, path, strconv.Itoa(n)).Output()
			if err != nil {
				return 0, err
			}
			took, err := strconv.Atoi(strings.TrimSpace(string(out)))
			return time.Duration(took), err
		}
	}
	return opener{"safetensors for Python (Rust)", "safetensors", func(path string) (library.File, error) {
		_, err := round(path)(1)
		return library.File{}, err
	}, round}
}
