package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/floor"
)

// target is a figure that a specification prints.
type target struct {
	name   string // of the benchmark
	limit  float64
	unit   string // "ms" or "MB"
	held   string // why a miss is not this library's, "" if it is
	figure func(b *testing.B) float64
}

// Targets measures all of them, of large networks too if asked to, and prints a
// table. A miss fails.
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
			case t.held != "":
				word = "missed: " + t.held
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

// ms is a duration in the unit of the specifications.
func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// opened is what opening and closing a file takes.
func opened(b *testing.B, path string) float64 {
	return ms(floor.PairsOf(b, floor.Rounds, floor.Timed(Opening(path)), floor.Timed(Mapping(path))).Op)
}

// loaded is what it takes to open a file, to have its checksums verified where
// that comes with the use of weights, and to read every byte of them.
func loaded(b *testing.B, path string) float64 {
	return ms(floor.PairsOf(b, floor.Rounds, floor.Timed(Loading(path, nil)), floor.Timed(func() error { return floor.Load(path) })).Op)
}

// megabytes is the size of a file in 10^6 bytes.
func megabytes(b *testing.B, path string) float64 {
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(st.Size()) / 1e6
}
