package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
)

// TestLibraries: every library finds the same names and sizes, so that none looks fast because it
// reads less.
func TestLibraries(t *testing.T) {
	for _, m := range []bench.Model{bench.Models[0], bench.Models[2]} {
		dir := t.TempDir()
		for _, l := range slices.Concat(ours(), peers()) {
			t.Run(m.Name+"/"+l.name, func(t *testing.T) {
				path := filepath.Join(dir, "model."+l.format)
				if paths, _ := floor.Files(path); len(paths) == 0 {
					if _, err := bench.Write(l.format, path, m, nil); err != nil {
						t.Fatal(err)
					}
				}
				f, err := l.open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, ok := f.(nothing); ok {
					return
				}
				want, got := described(m, l.format == "mobi"), f.Tensors()
				byName := func(a, b entry) int { return strings.Compare(a.Name, b.Name) }
				slices.SortFunc(want, byName)
				slices.SortFunc(got, byName)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
	}
}

// TestRefused: libraries that parse refuse a file that is not a model.
func TestRefused(t *testing.T) {
	for _, l := range slices.Concat(ours(), peers()) {
		if f, err := l.open(filepath.Join(t.TempDir(), "none")); err == nil {
			f.Close()
			t.Errorf("%s opens a file that is not there", l.name)
		}
	}
}
