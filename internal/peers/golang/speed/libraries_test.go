package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/bench"
)

// TestLibraries: every library finds the same names and sizes, so that none looks fast because it
// reads less. MOBI has numbers as names.
func TestLibraries(t *testing.T) {
	type size struct {
		Name string
		Size int64
	}
	byName := func(a, b size) int { return strings.Compare(a.Name, b.Name) }
	for _, m := range []bench.Model{bench.Models[0], bench.Models[2]} {
		dir := t.TempDir()
		for _, l := range append(ours(), peers()...) {
			t.Run(m.Name+"/"+l.name, func(t *testing.T) {
				path, err := file(dir, m, l.format)
				if err != nil {
					t.Fatal(err)
				}
				f, err := l.open(path)
				if err != nil {
					t.Fatal(err)
				}
				if f.Close != nil {
					defer f.Close()
				}
				if f.Tensors == nil {
					return
				}
				var want []size
				p, _ := m.Schema()
				for i, t := range p.Tensors {
					if l.format == "mobi" {
						t.Name = strconv.Itoa(i)
					}
					want = append(want, size{t.Name, t.Size})
				}
				tensors, err := f.Tensors()
				if err != nil {
					t.Fatal(err)
				}
				var got []size
				for _, t := range tensors {
					got = append(got, size{t.Name, t.Size})
				}
				slices.SortFunc(want, byName)
				slices.SortFunc(got, byName)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
	}
}
