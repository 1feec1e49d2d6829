// Package weightmap_test measures every registered format on three models, next to a floor measured in
// the same run, so that figures are ratios:
//
//	go test -run '^$' -bench . .
//
// Benchmarks report as "x-floor" their time relative to their floor: the median of the ratios of paired
// rounds.
package weightmap_test

import (
	"context"
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
)

var strict = flag.Bool("strict", false, "fail a verdict that is missed, even where it depends on the machine")

func TestMain(m *testing.M) { os.Exit(bench.Main(m)) }

func synced(sync bool) string {
	if sync {
		return "fsync"
	}
	return "nosync"
}

// BenchmarkOpen opens a file by detection and closes it. The floor is mapping and unmapping the same
// files.
func BenchmarkOpen(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f := bench.File(b, name, m)
		floor.Pairs(b, bench.Opening(f.Path), bench.Mapping(f.Paths...))
	})
}

// BenchmarkLoad opens a model and reads every byte of its tensors, with the format's default checks.
// The floor is mapping the same files and reading them.
func BenchmarkLoad(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f := bench.File(b, name, m)
		floor.Pairs(b, bench.Loading(f.Path, nil), func() error {
			for _, path := range f.Paths {
				if err := floor.Load(path); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// BenchmarkVerify verifies an open file on all processors. The floor is adding up the bytes of all
// tensors with the same number of goroutines.
func BenchmarkVerify(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		opened := bench.Open(b, bench.File(b, name, m).Path)
		verify := func() error {
			_, err := opened.Verify(context.Background())
			return err
		}
		if err := verify(); err != nil {
			b.Skipf("this file does not verify: %v", err)
		}
		floor.Pairs(b, verify, bench.Reading(b, m, runtime.GOMAXPROCS(0)))
	})
}

// BenchmarkWrite writes a model from memory, with and without fsync. The floor is writing the same
// bytes to a file with one write, or to one file per tensor if the model is a directory.
func BenchmarkWrite(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f := bench.File(b, name, m)
		for _, sync := range []bool{false, true} {
			b.Run(synced(sync), func(b *testing.B) {
				if st, err := os.Stat(f.Path); err == nil && st.IsDir() && sync && len(f.Plan.Tensors) > 1000 {
					b.Skip("one fsync for each of many files takes minutes")
				}
				bench.PairWrites(b, name, m, sync)
			})
		}
	})
}

// BenchmarkVerdicts measures every figure that has a limit, each as the median of the ratios of paired
// rounds, and prints a table:
//
//	go test -run '^$' -bench Verdicts . [-strict]
//
// A missed limit fails only if the figure does not depend on the machine, or with -strict. Comparisons
// with other libraries are in internal/peers.
func BenchmarkVerdicts(b *testing.B) { bench.Verdicts(b, *strict) }

// BenchmarkTargets measures the targets in the specifications of MOBI and MLE, and prints each figure
// next to its target:
//
//	go test -run '^$' -bench Targets .
//
// A missed target fails. Times are medians of at least 15 rounds, and each benchmark reports its time
// relative to the floor as "x-floor".
func BenchmarkTargets(b *testing.B) { bench.Targets(b) }
