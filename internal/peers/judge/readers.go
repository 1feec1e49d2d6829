package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// reader is a program that opens files.
type reader struct {
	name    string
	formats []string
	several bool // can open models of several files
	get     string
	dir     string                   // working directory
	command func() ([]string, error) // an error says why the reader is missing
}

// ours is this library's name; it must make no mistake.
const ours = "weightmap"

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

// readers returns all readers. It builds programs in dir; node is the directory of installed npm
// packages.
func readers(dir, node string) []reader {
	built := sync.OnceValue(func() error {
		out, err := exec.Command("go", "build", "-C", filepath.Join("internal", "peers", "golang"), "-o", dir, "./readers").CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build: %s", strings.TrimSpace(string(out)))
		}
		return nil
	})
	golang := func(name string, formats ...string) reader {
		return reader{name: name, formats: formats, get: "its module comes from Go's module proxy",
			command: func() ([]string, error) { return []string{filepath.Join(dir, "readers"), name}, built() }}
	}
	python := func(name, module, script string, formats ...string) reader {
		return reader{name: name, formats: formats, get: "Debian has it as python3-" + module,
			command: func() ([]string, error) { return findPython(module, script) }}
	}
	javaScript := func(name, script string, formats ...string) reader {
		return reader{name: name, formats: formats, get: "npm install --prefix DIR @huggingface/gguf npyjs, and -node DIR", dir: node,
			command: func() ([]string, error) { return findNode(node, script) }}
	}
	self := reader{name: ours, formats: []string{"safetensors", "gguf", "npy", "npz", "onnx"}, several: true, command: func() ([]string, error) {
		path, err := os.Executable()
		return []string{path, "-self"}, err
	}}
	onnxPython := python("onnx for Python", "onnx", onnx, "onnx")
	onnxPython.several = true
	return []reader{
		self,
		python("safetensors for Python", "safetensors", safetensors, "safetensors"),
		golang("nlpodyssey/safetensors", "safetensors"),
		golang("gguf-parser-go", "gguf"),
		golang("ollama fs/gguf", "gguf"),
		golang("ollama fs/ggml", "gguf"),
		javaScript("@huggingface/gguf", gguf, "gguf"),
		python("NumPy", "numpy", numpy, "npy", "npz"),
		golang("npyio", "npy"),
		golang("npyio/npz", "npz"),
		javaScript("npyjs", npyjs, "npy"),
		onnxPython,
	}
}

// findPython returns a command that runs script with the first Python that has the module.
// WEIGHTMAP_PYTHON selects another one, since Debian 12 has no safetensors.
func findPython(module, script string) ([]string, error) {
	for _, python := range []string{"/usr/bin/python3", "python3", os.Getenv("WEIGHTMAP_PYTHON")} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return []string{python, "-c", script}, nil
		}
	}
	return nil, fmt.Errorf("no python3 has the module %s", module)
}

// findNode returns a command that runs a script whose imports are resolved in dir.
func findNode(dir, script string) ([]string, error) {
	if dir == "" {
		return nil, errors.New("-node does not say where it is")
	}
	node, err := exec.LookPath("node")
	return []string{node, "--input-type=module", "-e", script}, err
}
