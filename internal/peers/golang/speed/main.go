// Command speed measures how long this library and others take to open models, and prints a table
// in Markdown:
//
//	go run -C internal/peers/golang ./speed [-replace]
//
// With -replace it replaces the table in internal/bench/README.md.
//
// All libraries open the same tensors, each in a format that it reads; format/gguf writes the GGUF
// files. Figures are medians of the ratios of paired rounds, so they do not depend on the machine's
// speed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
)

// page has the table. The program runs in the directory of its module.
const page = "../../bench/README.md"

func main() {
	log.SetFlags(0)
	replace := flag.Bool("replace", false, "replace the table in internal/bench/README.md")
	flag.Parse()
	text, err := measured()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
	if !*replace {
		return
	}
	err = bench.Replace(page, "peers", text)
	if err != nil {
		log.Fatal(err)
	}
}

// measured returns the table.
func measured() (string, error) {
	dir, err := os.MkdirTemp("", "weightmap-peers-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	return table(dir)
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

// table returns the time of every library relative to the first of the others.
func table(dir string) (string, error) {
	var text strings.Builder
	others := peers()
	base := others[0]
	fmt.Fprintf(&text, "| relative to %s", base.name)
	for _, c := range columns {
		fmt.Fprint(&text, " | ", c.title)
	}
	fmt.Fprint(&text, " |\n|---|---|---|---|---|\n")
	for _, l := range append(ours(), others...) {
		fmt.Fprint(&text, "| ", l.name)
		for _, c := range columns {
			cell, err := compare(dir, c.model, c.cold, l, base)
			if err != nil {
				return "", fmt.Errorf("%s, %s: %w", l.name, c.title, err)
			}
			fmt.Fprint(&text, " | ", cell)
		}
		fmt.Fprintln(&text, " |")
	}
	return text.String(), nil
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
