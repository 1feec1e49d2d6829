package main

import (
	"bufio"
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

// readCorpora reads the indexes below root and marks choices. A choice that matches no case is an
// error.
func readCorpora(root string) (map[string][]index, error) {
	patterns, err := parseChoices(choices)
	if err != nil {
		return nil, err
	}
	all := map[string][]index{}
	for f, dir := range corpora {
		dir = filepath.Join(root, filepath.FromSlash(dir))
		if all[f], err = readIndex(dir); err != nil {
			return nil, err
		}
		for _, p := range patterns[f] {
			if !mark(all[f], p) {
				return nil, fmt.Errorf("choices.txt: %s: no case is called %q", f, p)
			}
		}
	}
	return all, nil
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

// mark marks the cases whose names match, and reports whether there are any.
func mark(all []index, pattern string) (found bool) {
	for i := range all {
		if ok, _ := path.Match(pattern, all[i].Name); ok {
			all[i].choice, found = true, true
		}
	}
	return found
}

// parseChoices returns patterns of names by format. A line is a comment, "[format]" or a pattern.
func parseChoices(text string) (map[string][]string, error) {
	all, f := map[string][]string{}, ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			if f = strings.Trim(line, "[]"); corpora[f] == "" {
				return nil, fmt.Errorf("choices.txt: no corpus of %q", f)
			}
		default:
			if _, err := path.Match(line, ""); err != nil {
				return nil, fmt.Errorf("choices.txt: %q: %w", line, err)
			}
			all[f] = append(all[f], line)
		}
	}
	return all, nil
}
