// Package bench implements the benchmarks of the module's root: the models and their files, the
// figures that have limits, and the targets that specifications print.
package bench

import (
	"fmt"
	"testing"
)

// Verdicts measures all figures and prints a table. With strict, a missed limit fails the benchmark
// even if the figure depends on the machine.
func Verdicts(b *testing.B, strict bool) {
	t := &table{b, strict, b.TempDir(), map[string]file{}, ""}
	t.open()
	t.cold()
	t.use()
	t.verify()
	t.decode()
	t.convert()
	t.write()
	t.load()
	t.print()
}

// table measures figures that have limits, one after the other.
type table struct {
	b      *testing.B
	strict bool            // a missed limit fails the benchmark
	dir    string          // of the models
	files  map[string]file // by path
	text   string
}

// measure returns a figure.
type measure func(b *testing.B) float64

// most measures a ratio with an upper limit.
func (t *table) most(name string, limit float64, m measure) {
	t.add(name, "at most", limit, "", m)
}

// least measures a ratio with a lower limit.
func (t *table) least(name string, limit float64, m measure) {
	t.add(name, "at least", limit, "", m)
}

// add measures a figure. One with a unit must not depend on the machine: if it misses its limit,
// the benchmark fails.
func (t *table) add(name, bound string, limit float64, unit string, m measure) {
	line := ""
	t.b.Run(name, func(b *testing.B) {
		got := m(b)
		word := "met"
		if bound == "at most" && got > limit || bound == "at least" && got < limit {
			word = "missed"
			if unit != "" || t.strict {
				b.Errorf("%.3g, %s %v", got, bound, limit)
			}
		}
		b.ReportMetric(limit, "limit")
		if unit != "" {
			b.ReportMetric(got, unit)
		}
		line = fmt.Sprintf("%-44s %8.3g %-8s %-8s %6v   %s\n", name, got, unit, bound, limit, word)
	})
	t.text += line
}

func (t *table) print() { fmt.Print("\n", t.text, "\n") }
