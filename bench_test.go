// Package weightmap_test measures operations next to a floor measured in the same run, so that figures are
// ratios: medians of paired rounds. Comparisons with other libraries are in internal/peers.
package weightmap_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/expect"
)

var (
	strict  = flag.Bool("strict", false, "fail a verdict that is missed, even where it depends on the machine")
	replace = flag.Bool("replace", false, "replace the tables in internal/bench/README.md")
)

// BenchmarkVerdicts measures operations relative to what the machine can do, and prints a table:
//
//	go test -run '^$' -bench Verdicts . [-strict]
//
// A missed limit fails only if the figure does not depend on the machine, or with -strict.
func BenchmarkVerdicts(b *testing.B) { show(b, "verdicts", bench.Verdicts(b, *strict)) }

// BenchmarkTargets measures what the specifications of MOBI and MLE promise, and the formats that
// people have, and prints the best and the median of each figure next to its target:
//
//	go test -run '^$' -bench Targets .
//
// A missed target fails, unless its row says why it cannot be reached.
func BenchmarkTargets(b *testing.B) { show(b, "targets", bench.Targets(b)) }

// show prints a table. With -replace it replaces the one in the documentation.
func show(b *testing.B, name, table string) {
	fmt.Print("\n", table, "\n")
	if *replace {
		expect.OK(b, bench.Replace("internal/bench/README.md", name, table))
	}
}
