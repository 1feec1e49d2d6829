package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/floor"
)

// target is a figure in a specification.
type target struct {
	name   string // the benchmark's name
	limit  float64
	unit   string // "ms" or "MB"
	excuse string // why the library cannot meet it, "" if it can
	figure func(b *testing.B) float64
}

// Targets measures all targets, including those of large networks if large is set, and prints a table.
// A missed target fails the benchmark unless it has an excuse.
func Targets(b *testing.B, large bool) {
	var table strings.Builder
	for _, t := range append(mobiTargets(), mleTargets(large)...) {
		line := ""
		b.Run(t.name, func(b *testing.B) {
			figure := t.figure(b)
			b.ReportMetric(figure, t.unit)
			b.ReportMetric(t.limit, "target-"+t.unit)
			word := fmt.Sprintf("%.3g times under", t.limit/figure)
			switch {
			case figure == 0:
				word = "too little to measure"
			case figure <= t.limit:
			case t.excuse != "":
				word = "missed: " + t.excuse
			default:
				word = "missed"
				b.Errorf("%.3g %s, at most %v", figure, t.unit, t.limit)
			}
			line = fmt.Sprintf("%-36s %9.3f %s   target %5v   %s\n", t.name, figure, t.unit, t.limit, word)
		})
		table.WriteString(line)
	}
	fmt.Print("\n", table.String(), "\n")
}

// ms converts a duration to milliseconds.
func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// opened returns the milliseconds of opening and closing a file.
func opened(b *testing.B, path string) float64 {
	return ms(floor.PairsOf(b, floor.Rounds, floor.Timed(Opening(path)), floor.Timed(Mapping(path))).Op)
}

// loaded returns the milliseconds of opening a file, reading every byte of its weights and, if the
// format checks on access, verifying their checksums.
func loaded(b *testing.B, path string) float64 {
	return ms(floor.PairsOf(b, floor.Rounds, floor.Timed(Loading(path, nil)), floor.Timed(func() error { return floor.Load(path) })).Op)
}

// megabytes returns the size of a file in 10^6 bytes.
func megabytes(b *testing.B, path string) float64 {
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(st.Size()) / 1e6
}
