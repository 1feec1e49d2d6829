package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"

	"github.com/weightmap/weightmap/internal/peers/golang/library"
)

// reader is a program that opens a file, whose path is its last argument, and prints an answer.
type reader struct {
	name    string
	formats []string
	several bool   // can open models of several files
	dir     string // working directory
	command []string
	missing string // why the reader is not here, and how to get it

	// Of a library that this program links:
	module string
	open   func(path string) (library.File, error)
}

// ours is this library's name; it must make no mistake.
const ours = "weightmap"

// answer is the result of reading a file.
type answer struct {
	Version string           `json:"version"`
	Error   string           `json:"error,omitempty"`
	Tensors []library.Tensor `json:"tensors"`
}

// answer reads a file with a library that this program links. A panic ends the process.
func (r *reader) answer(path string) answer {
	a := answer{Version: "this tree"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == r.module {
				a.Version = d.Version
			}
		}
	}
	var err error
	if a.Tensors, err = r.tensors(path); err != nil {
		a.Error = "refused: " + err.Error()
	}
	return a
}

func (r *reader) tensors(path string) (all []library.Tensor, err error) {
	f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	if f.Close != nil {
		defer f.Close()
	}
	all, err = f.Tensors()
	for i := 0; err == nil && i < len(all); i++ {
		all[i].Data, err = all[i].Read()
	}
	return all, err
}

// Readers in other languages.
var (
	//go:embed numpy.py
	numpy string
	//go:embed onnx.py
	onnx string
	//go:embed safetensors.py
	safetensors string
	//go:embed gguf.mjs
	gguf string
	//go:embed npyjs.mjs
	npyjs string
)

// linked are the libraries that this program links.
var linked = []reader{
	golang(ours, "", library.Weightmap, "safetensors", "gguf", "npy", "npz", "onnx"),
	golang("nlpodyssey/safetensors", "github.com/nlpodyssey/safetensors", library.Safetensors, "safetensors"),
	golang("gguf-parser-go", "github.com/gpustack/gguf-parser-go", library.Parser, "gguf"),
	golang("ollama fs/gguf", "github.com/ollama/ollama", library.Ollama, "gguf"),
	golang("ollama fs/ggml", "github.com/ollama/ollama", library.GGML, "gguf"),
	golang("npyio", "github.com/sbinet/npyio", library.Npyio, "npy", "npz"),
}

// installed returns the readers in other languages; node is the directory of installed npm
// packages.
func installed(node string) []reader {
	return []reader{
		python("safetensors for Python", "safetensors", safetensors, "safetensors"),
		python("NumPy", "numpy", numpy, "npy", "npz"),
		python("onnx for Python", "onnx", onnx, "onnx"),
		javaScript("@huggingface/gguf", node, gguf, "gguf"),
		javaScript("npyjs", node, npyjs, "npy"),
	}
}

// golang returns a reader that is this program with another argument.
func golang(name, module string, open func(path string) (library.File, error), formats ...string) reader {
	r := reader{name: name, formats: formats, several: name == ours, module: module, open: open}
	self, err := os.Executable()
	if err != nil {
		r.missing = err.Error()
	}
	r.command = []string{self, "-reader", name}
	return r
}

// python returns a reader that runs script with the first Python that has the module.
// WEIGHTMAP_PYTHON selects another one, since Debian 12 has no safetensors.
func python(name, module, script string, formats ...string) reader {
	r := reader{name: name, formats: formats, several: module == "onnx"}
	for _, python := range []string{"/usr/bin/python3", "python3", os.Getenv("WEIGHTMAP_PYTHON")} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			r.command = []string{python, "-c", script}
			return r
		}
	}
	r.missing = fmt.Sprintf("no python3 has the module %s; Debian has it as python3-%[1]s", module)
	return r
}

// javaScript returns a reader that runs a script with an npm package in a directory.
func javaScript(name, dir, script string, formats ...string) reader {
	r := reader{name: name, formats: formats, dir: dir, command: []string{"node", "--input-type=module", "-e", script}}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); err != nil {
		r.missing = "not in -node DIR; npm install --prefix DIR @huggingface/gguf npyjs"
	}
	return r
}
