package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// index is a line of an index.jsonl; see internal/corpus.
type index struct {
	Name, File, Want string
	Tensors          []struct{ Name string }
	SHA256           string

	path   string
	choice bool // the specification leaves the verdict open
}

// several reports whether the model has several files.
func (x *index) several() bool { return strings.Contains(x.File, "/") }

// root is the directory of the main module, relative to this one.
const root = "../../../"

// corpora are the directories with the cases of each format.
var corpora = map[string]string{
	"safetensors": "format/safetensors/testdata/corpus",
	"gguf":        "format/gguf/testdata/corpus",
	"npy":         "format/npy/testdata/corpus/npy",
	"npz":         "format/npy/testdata/corpus/npz",
	"onnx":        "format/onnx/testdata/corpus",
}

//go:embed choices.txt
var choices string

// readCorpora reads the indexes and marks choices.
func readCorpora() (all map[string][]index, err error) {
	all = map[string][]index{}
	for f, dir := range corpora {
		if all[f], err = readIndex(root + dir); err != nil {
			return nil, err
		}
	}
	return all, mark(all, choices)
}

func readIndex(dir string) (all []index, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var x index
		if err := d.Decode(&x); err != nil {
			return nil, err
		}
		if x.path, err = filepath.Abs(filepath.Join(dir, filepath.FromSlash(x.File))); err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// mark marks the cases whose verdict is a choice. A line of the text is a comment, "[format]" or a
// pattern of names; one that matches no case is an error.
func mark(all map[string][]index, text string) error {
	var cases []index
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			cases = all[strings.Trim(line, "[]")]
			continue
		}
		found := false
		for i := range cases {
			if ok, _ := path.Match(line, cases[i].Name); ok {
				cases[i].choice, found = true, true
			}
		}
		if !found {
			return fmt.Errorf("choices.txt: no case is called %q", line)
		}
	}
	return nil
}
