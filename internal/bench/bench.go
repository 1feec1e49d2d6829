// Package bench implements the benchmarks of the module's root: the models and their files, figures
// relative to what the machine can do, and the targets that specifications print.
package bench

import (
	"fmt"
	"testing"
)

// Verdicts measures figures relative to what the machine can do, and returns them as a table in
// Markdown. With strict, a missed limit fails the benchmark even if the figure depends on the
// machine.
func Verdicts(b *testing.B, strict bool) string {
	t := &table{b, strict, b.TempDir(), map[string]file{}, ""}
	t.open()
	t.cold()
	t.use()
	t.verify()
	t.verifyUnmapped()
	t.verifyMany()
	t.decode()
	t.convert()
	t.write()
	t.load()
	t.stream()
	return "| figure | measured | limit |\n|---|---|---|\n" + t.text
}

// table measures figures, one after the other.
type table struct {
	b      *testing.B
	strict bool            // a missed limit fails the benchmark
	dir    string          // of the models
	files  map[string]file // by path
	text   string
}

// measure returns a figure.
type measure func(b *testing.B) float64

// figure measures a ratio without a limit.
func (t *table) figure(name string, m measure) { t.add(name, "", 0, "", m) }

// most measures a ratio with an upper limit.
func (t *table) most(name string, limit float64, m measure) { t.add(name, atMost, limit, "", m) }

// least measures a ratio with a lower limit.
func (t *table) least(name string, limit float64, m measure) { t.add(name, atLeast, limit, "", m) }

// The bounds of a figure.
const (
	atMost  = "at most"
	atLeast = "at least"
)

// add measures a figure. One with a unit must not depend on the machine: if it misses its limit,
// the benchmark fails.
func (t *table) add(name, bound string, limit float64, unit string, m measure) {
	line := ""
	t.b.Run(name, func(b *testing.B) {
		got := m(b)
		text := fmt.Sprintf("%.3g", got)
		if got >= 100 {
			text = fmt.Sprintf("%.0f", got)
		}
		if unit != "" {
			text += " " + unit
			b.ReportMetric(got, unit)
		}
		wanted := ""
		if bound != "" {
			wanted = fmt.Sprintf("%s %v", bound, limit)
			b.ReportMetric(limit, "limit")
		}
		if bound == atMost && got > limit || bound == atLeast && got < limit {
			wanted += ", missed"
			if unit != "" || t.strict {
				b.Errorf("%.3g, %s %v", got, bound, limit)
			}
		}
		line = fmt.Sprintf("| %s | %s | %s |\n", name, text, wanted)
	})
	t.text += line
}
