package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
)

// comparison holds the files to open.
type comparison struct {
	dir    string
	rounds int
}

// write writes every model in every format.
func (b *comparison) write() error {
	for i, m := range bench.Models {
		for _, l := range ours() {
			if _, err := bench.Write(l.format, b.path(i, l.format), m, nil); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	return nil
}

func (b *comparison) path(model int, format string) string {
	return filepath.Join(b.dir, fmt.Sprintf("model%d.%s", model, format))
}

// find returns a library by name.
func find(name string) library {
	all := slices.Concat(ours(), peers())
	return all[slices.IndexFunc(all, func(l library) bool { return l.name == name })]
}

// warm opens and closes a model.
func (b *comparison) warm(l library, model int) floor.Round {
	if l.round != nil {
		return l.round(b.path(model, l.format))
	}
	return floor.Timed(b.opening(l, model))
}

func (b *comparison) opening(l library, model int) func() error {
	path := b.path(model, l.format)
	return func() error {
		f, err := l.open(path)
		if err != nil {
			return err
		}
		return f.Close()
	}
}

// cold is warm with the files evicted from the page cache before each run. It returns nil if they
// cannot be evicted.
func (b *comparison) cold(l library, model int) (floor.Round, error) {
	paths, err := floor.Files(b.path(model, l.format))
	if err != nil || floor.Evict(paths[:1]) != nil {
		return nil, err
	}
	open := b.warm(l, model)
	return func(n int) (took time.Duration, err error) {
		for range n {
			if err := floor.Evict(paths); err != nil {
				return 0, err
			}
			once, err := open(1)
			if err != nil {
				return 0, err
			}
			took += once
		}
		return took, nil
	}, nil
}

// table prints the time of every library relative to one.
func (b *comparison) table(w io.Writer) error {
	head, rule := "|", "|---|"
	for _, c := range columns {
		head += " | " + c
		rule += "---|"
	}
	fmt.Fprintf(w, "%s | 300 tensors, cold cache |\n%s---|\n", head, rule)
	base := find(gpustack)
	for _, l := range slices.Concat(ours(), peers()) {
		cells := []string{l.name}
		for i := range columns {
			r, err := floor.Compare(b.rounds, b.warm(l, i), b.warm(base, i))
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			cells = append(cells, short(r.Ratio))
		}
		ratio, ok, err := b.coldRatio(l, base)
		if err != nil {
			return fmt.Errorf("%s, cold: %w", l.name, err)
		}
		cell := "not here"
		if ok {
			cell = short(ratio)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(append(cells, cell), " | "))
	}
	return nil
}

// coldRatio compares two libraries on 300 tensors that are not in the page cache.
func (b *comparison) coldRatio(l, base library) (ratio float64, ok bool, err error) {
	const large = 1
	ours, err := b.cold(l, large)
	if err != nil || ours == nil {
		return 0, false, err
	}
	theirs, err := b.cold(base, large)
	if err != nil || theirs == nil {
		return 0, false, err
	}
	r, err := floor.Compare(b.rounds, ours, theirs)
	return r.Ratio, true, err
}

// short formats x with two digits.
func short(x float64) string {
	switch {
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	case x < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.2g", x)
}

// verdict is a figure with a limit.
type verdict struct {
	name  string
	limit float64
	ratio func() (ratio float64, ok bool, err error)
}

// verdicts prints the figures relative to other libraries that have limits.
func (b *comparison) verdicts(w io.Writer) (missed int, err error) {
	const many = 2
	var all []verdict
	for _, c := range []struct {
		format string
		limit  float64
	}{{"mag", 0.10}, {"mobi", 0.15}, {"wia", 0.25}, {"mle", 0.20}, {"tsr", 2}} {
		l := find("weightmap, " + c.format)
		all = append(all, verdict{"10,000 tensors, " + c.format + ", relative to " + gpustack, c.limit, func() (float64, bool, error) {
			r, err := floor.Compare(b.rounds, b.warm(l, many), b.warm(find(gpustack), many))
			return r.Ratio, true, err
		}})
	}
	for _, l := range ours() {
		all = append(all, verdict{"300 tensors, cold cache, " + l.format + ", relative to " + fsggml, 1, func() (float64, bool, error) {
			return b.coldRatio(l, find(fsggml))
		}})
	}
	fmt.Fprintf(w, "| verdict | at most | measured | |\n|---|---|---|---|\n")
	for _, v := range all {
		ratio, ok, err := v.ratio()
		if err != nil {
			return missed, fmt.Errorf("%s: %w", v.name, err)
		}
		cell, word := short(ratio), "met"
		switch {
		case !ok:
			cell, word = "", "the page cache cannot be emptied here"
		case ratio > v.limit:
			word = "missed"
			missed++
		}
		fmt.Fprintf(w, "| %s | %v | %s | %s |\n", v.name, v.limit, cell, word)
	}
	return missed, nil
}
