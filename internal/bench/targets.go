package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
)

// Targets measures what the specifications of MOBI and MLE promise, a row for each of their
// sentences and figures, and the formats that people have. It returns a table in Markdown. A missed
// target fails the benchmark, unless the row says why it cannot be reached.
func Targets(b *testing.B) string {
	t := &targets{b: b, dir: b.TempDir()}
	t.mobi()
	t.mleTimes()
	t.mleSizes()
	t.usual()
	return "| target | limit | best | median |\n|---|---|---|---|\n" + t.text
}

// targets are rows of targets.
type targets struct {
	b    *testing.B
	dir  string // of the models
	text string
}

// row is a target. Machines are busy now and then, so the best round counts.
type row struct {
	name    string // as the specification says it
	limit   float64
	unit    string
	why     string // why it cannot be reached, if so
	measure func(b *testing.B) figure
}

// figure is what was measured: the best and the median of some rounds.
type figure struct{ best, median float64 }

// add measures a row.
func (t *targets) add(r row) {
	line := ""
	t.b.Run(r.name, func(b *testing.B) {
		f := r.measure(b)
		missed := ""
		if f.best > r.limit {
			missed = ", missed: " + r.why
			if r.why == "" {
				b.Errorf("%.3g %s, the target is %v", f.best, r.unit, r.limit)
			}
		}
		b.ReportMetric(f.best, "best-"+r.unit)
		b.ReportMetric(f.median, "median-"+r.unit)
		line = fmt.Sprintf("| %s | %v %s | %.3g%s | %.3g |\n",
			r.name, r.limit, r.unit, f.best, missed, f.median)
	})
	t.text += line
}

// writing writes a model to a path, and pathOf returns the path of one.
type (
	writing func(b *testing.B, path string) error
	pathOf  func(b *testing.B) string
)

// file returns the path of a file, which is written when it is first used.
func (t *targets) file(name string, write writing) pathOf {
	path := filepath.Join(t.dir, name)
	return func(b *testing.B) string {
		_, err := os.Stat(path)
		if err != nil {
			expect.OK(b, write(b, path))
		}
		return path
	}
}

// rounds and roundsTime end a row, whichever comes first.
const (
	rounds     = 20
	roundsTime = 2 * time.Second
)

// alternate runs operations by turns, and returns the best and the median time of each in seconds.
func alternate(b *testing.B, ops ...func() error) []figure {
	times := make([][]float64, len(ops))
	total := time.Duration(0)
	round := func() {
		for i, op := range ops {
			start := time.Now()
			expect.OK(b, op())
			took := time.Since(start)
			times[i] = append(times[i], took.Seconds())
			total += took
		}
	}
	for b.Loop() {
		round()
	}
	for len(times[0]) < rounds && total < roundsTime {
		round()
	}
	figures := make([]figure, len(ops))
	for i, list := range times {
		slices.Sort(list)
		figures[i] = figure{list[0], list[len(list)/2]}
	}
	return figures
}

// milliseconds measures an operation.
func milliseconds(b *testing.B, op func() error) figure {
	f := alternate(b, op)[0]
	return figure{1e3 * f.best, 1e3 * f.median}
}

// timed returns the measure of an operation on a file.
func timed(file pathOf, op func(path string) func() error) func(b *testing.B) figure {
	return func(b *testing.B) figure { return milliseconds(b, op(file(b))) }
}

// loadingWith returns a function that opens a file, brings all weights into memory and reads every
// byte of them.
func loadingWith(c format.Check) func(path string) func() error {
	return func(path string) func() error {
		return func() error {
			m, err := format.Open(path, &format.Options{Check: c})
			if err != nil {
				return err
			}
			defer m.Close()
			var requests []format.Request
			for _, v := range m.Tensors() {
				requests = append(requests, format.Request{Tensor: v.Name()})
			}
			err = m.Load(context.Background(), requests, nil)
			if err != nil {
				return err
			}
			for _, v := range m.Tensors() {
				err := v.Use(func(p []byte) error { floor.Read(p); return nil })
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// parsing parses the header of a file in memory.
func parsing(b *testing.B, path string) func() error {
	data := expect.Read(b, path)
	return func() error {
		m, err := format.OpenBytes(data, nil)
		if err != nil {
			return err
		}
		return m.Close()
	}
}

// headerOf returns the measure of parsing.
func headerOf(file pathOf) func(b *testing.B) figure {
	return func(b *testing.B) figure { return milliseconds(b, parsing(b, file(b))) }
}

// verifyingOf returns the measure of what checking all checksums adds to a load.
func verifyingOf(file pathOf) func(b *testing.B) figure {
	return func(b *testing.B) figure {
		path := file(b)
		f := alternate(b, loadingWith(format.CheckTouch)(path), loadingWith(format.CheckStructure)(path))
		checked := f[0]
		plain := f[1]
		return figure{1e3 * max(0, checked.best-plain.best), 1e3 * max(0, checked.median-plain.median)}
	}
}

// megabytes returns the measure of the size of a file in units of a number of bytes, rounded to
// whole ones as the specifications' figures are.
func megabytes(file pathOf, unit float64) func(b *testing.B) figure {
	return func(b *testing.B) figure {
		st, err := os.Stat(file(b))
		expect.OK(b, err)
		n := float64(st.Size()) / unit
		if n >= 10 {
			n = math.Round(n)
		}
		return figure{n, n}
	}
}
