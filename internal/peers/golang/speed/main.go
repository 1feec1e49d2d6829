// Command speed measures how long this library and others take to open models, and prints a table
// in
// Markdown:
//
//	go run -C internal/peers/golang ./speed
//
// All libraries open the same tensors, each in a format that it reads; format/gguf writes the GGUF
// files. Figures are medians of the ratios of paired rounds, so they do not depend on the machine's
// speed.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
)

func main() {
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "weightmap-peers-")
	if err != nil {
		log.Fatal(err)
	}
	err = table(dir)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

// columns are the columns of the table.
var columns = []struct {
	title string
	model bench.Model
	cold  bool // the file is evicted from the page cache before each opening
}{
	{"20 tensors, 2 MB", bench.Models[0], false},
	{"300 tensors, 100 MB", bench.Models[1], false},
	{"10,000 tensors of 256 bytes", bench.Models[2], false},
	{"300 tensors, cold cache", bench.Models[1], true},
}

// table prints the time of every library relative to the first of the others.
func table(dir string) error {
	others := peers()
	base := others[0]
	fmt.Printf("Opening and closing, relative to %s:\n\n|", base.name)
	for _, c := range columns {
		fmt.Print(" | ", c.title)
	}
	fmt.Print(" |\n|---|---|---|---|---|\n")
	for _, l := range append(ours(), others...) {
		fmt.Print("| ", l.name)
		for _, c := range columns {
			cell, err := compare(dir, c.model, c.cold, l, base)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", l.name, c.title, err)
			}
			fmt.Print(" | ", cell)
		}
		fmt.Println(" |")
	}
	return nil
}

// compare returns the ratio of two libraries with two digits.
func compare(dir string, m bench.Model, cold bool, a, b opener) (string, error) {
	var rounds [2]floor.Round
	for i, l := range []opener{a, b} {
		path, err := file(dir, m, l.format)
		if err != nil {
			return "", err
		}
		rounds[i] = l.round(path)
		if !cold {
			continue
		}
		paths, err := floor.Files(path)
		if err != nil {
			return "", err
		}
		if floor.Evict(paths...) != nil {
			return "not here", nil
		}
		rounds[i] = floor.Then(rounds[i], func() error { return floor.Evict(paths...) })
	}
	r, err := floor.Compare(rounds[0], rounds[1])
	switch {
	case r.Ratio >= 10:
		return fmt.Sprintf("%.0f", r.Ratio), err
	case r.Ratio < 0.001:
		return "< 0.001", err
	}
	return fmt.Sprintf("%.2g", r.Ratio), err
}

// file returns the path of a model in a format, and writes it if it is not there.
func file(dir string, m bench.Model, format string) (string, error) {
	path := filepath.Join(dir, m.Name+"."+format)
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = bench.Write(format, path, m, nil)
	}
	return path, err
}
