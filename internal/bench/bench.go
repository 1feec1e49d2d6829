// Package bench implements the benchmarks of the module's root: the models and their files, the
// figures that have limits, and the targets that specifications print.
package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Verdicts measures all figures and prints a table. With strict, a missed limit fails the benchmark
// even if the figure depends on the machine.
func Verdicts(b *testing.B, strict bool) {
	t := &table{b: b, strict: strict}
	t.open()
	t.cold()
	t.allocations()
	t.use()
	t.verify()
	t.decode()
	t.encode()
	t.convert()
	t.write()
	t.serve()
	t.load()
	t.lateness()
	t.remote()
	t.firstFloat()
	t.print()
}

// Targets measures the targets in the specifications of MOBI and MLE, including those of large networks
// if large is set, and prints a table. A missed target fails the benchmark unless it has an excuse.
func Targets(b *testing.B, large bool) {
	t := &table{b: b, strict: true}
	t.mobi()
	t.mle(large)
	t.print()
}

// table measures figures that have limits, one after the other.
type table struct {
	b      *testing.B
	strict bool // a missed limit fails the benchmark
	text   strings.Builder
}

// figure is a measurement with a limit.
type figure struct {
	limit  float64
	least  bool   // the limit is a lower bound
	counts bool   // the figure does not depend on the machine
	unit   string // "" for a ratio
	excuse string // why the limit cannot be met, "" if it can
}

// measure returns a figure.
type measure func(b *testing.B) float64

// most measures a ratio with an upper limit.
func (t *table) most(name string, limit float64, m measure) {
	t.add(name, figure{limit: limit}, m)
}

// least measures a ratio with a lower limit.
func (t *table) least(name string, limit float64, m measure) {
	t.add(name, figure{limit: limit, least: true}, m)
}

// count measures a number that does not depend on the machine.
func (t *table) count(name string, limit float64, unit string, m measure) {
	t.add(name, figure{limit: limit, unit: unit, counts: true}, m)
}

func (t *table) add(name string, f figure, m measure) {
	line := ""
	t.b.Run(name, func(b *testing.B) {
		got := m(b)
		bound, missed := "at most", got > f.limit
		if f.least {
			bound, missed = "at least", got < f.limit
		}
		word := "met"
		if missed {
			word = "missed " + f.excuse
		}
		if missed && f.excuse == "" && (f.counts || t.strict) {
			b.Errorf("%.3g, %s %v", got, bound, f.limit)
		}
		b.ReportMetric(f.limit, "limit")
		if f.unit != "" {
			b.ReportMetric(got, f.unit)
		}
		line = fmt.Sprintf("%-44s %8.3g %-8s %-8s %6v   %s\n", name, got, f.unit, bound, f.limit, word)
	})
	t.text.WriteString(line)
}

func (t *table) print() { fmt.Print("\n", t.text.String(), "\n") }

// temp holds the files of all benchmarks; Main removes it.
var temp string

// Main runs the tests and benchmarks of a package and returns its exit status.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weightmap-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	temp = dir
	return m.Run()
}

// ms converts a duration to milliseconds.
func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// p99 returns the 99th percentile.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}
