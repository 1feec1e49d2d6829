// Package weightmap_test measures every registered format on three models, next to a floor measured in
// the same run, so that figures are ratios:
//
//	go test -run '^$' -bench . .
//
// BenchmarkFloor measures the machine: mapping and unmapping a file, reading every byte of it, and
// writing it with one write. The other benchmarks report as "x-floor" their time relative to their
// floor: the median of the ratios of paired rounds.
package weightmap_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

var (
	strict = flag.Bool("strict", false, "fail a verdict that is missed, even where it depends on the machine")
	large  = flag.Bool("large", false, "measure BERT-Base and GPT-2 too: 5 GB on disk")
)

func TestMain(m *testing.M) { os.Exit(bench.Main(m)) }

// BenchmarkFloor measures the same work on the same bytes without the library.
func BenchmarkFloor(b *testing.B) {
	for _, m := range bench.Models {
		b.Run("mmap/"+m.Name, func(b *testing.B) {
			path := bench.Plain(b, m)
			for b.Loop() {
				if err := floor.Map(path); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("readsum/"+m.Name, func(b *testing.B) {
			v := bench.WholeFile(b, bench.Plain(b, m))
			b.SetBytes(v.Info().Size)
			for b.Loop() {
				if err := bench.Reading(v, 1)(); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, sync := range []bool{false, true} {
			b.Run("copy/"+m.Name+"/"+synced(sync), func(b *testing.B) {
				_, data := m.Plan()
				path := filepath.Join(b.TempDir(), "copy")
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if err := bench.CopyOnce(path, data, sync); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					os.Remove(path)
					b.StartTimer()
				}
			})
		}
	}
}

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
		floor.Pairs(b, floor.Rounds, bench.Opening(f.Path), bench.Mapping(f.Paths...))
	})
}

// BenchmarkLoad opens a model and reads every byte of its tensors, with the format's default checks.
// The floor is mapping the same files and reading them.
func BenchmarkLoad(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f := bench.File(b, name, m)
		floor.Pairs(b, floor.Rounds, bench.Loading(f.Path, nil), func() error {
			for _, path := range f.Paths {
				if err := floor.Load(path); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// BenchmarkTensor looks tensors up by name in random order, and views one as []float32.
func BenchmarkTensor(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f := bench.File(b, name, m)
		opened, err := format.Open(f.Path, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer opened.Close()
		b.Run("lookup", func(b *testing.B) {
			b.ReportAllocs()
			n := len(f.Plan.Tensors)
			names := make([]string, n)
			for i := range names {
				names[i] = f.Plan.Tensors[i*7919%n].Name
			}
			for i := 0; b.Loop(); i++ {
				if _, err := opened.Tensor(names[i%n]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("as", func(b *testing.B) {
			b.ReportAllocs()
			v, err := opened.Tensor(f.Plan.Tensors[0].Name)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := tensor.As[float32](v)
				if err != nil || len(s) == 0 {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkVerify verifies an open file on all processors. The floor is adding up the bytes of all
// tensors with the same number of goroutines.
func BenchmarkVerify(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f, whole := bench.File(b, name, m), bench.WholeFile(b, bench.Plain(b, m))
		opened, err := format.Open(f.Path, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer opened.Close()
		verify := func() error {
			_, err := opened.Verify(context.Background())
			return err
		}
		if err := verify(); err != nil {
			b.Skipf("this file does not verify: %v", err)
		}
		floor.Pairs(b, floor.Rounds, verify, bench.Reading(whole, runtime.GOMAXPROCS(0)))
	})
}

// BenchmarkWrite writes a model from memory, with and without fsync. The floor is writing the same
// bytes to a file with one write, or to one file per tensor if the model is a directory.
func BenchmarkWrite(b *testing.B) {
	bench.Each(b, func(b *testing.B, name string, m bench.Model) {
		f := bench.File(b, name, m)
		_, data := m.Plan()
		for _, sync := range []bool{false, true} {
			b.Run(synced(sync), func(b *testing.B) {
				if st, err := os.Stat(f.Path); err == nil && st.IsDir() && sync && len(f.Plan.Tensors) > 1000 {
					b.Skip("one fsync for each of many files takes minutes")
				}
				bench.PairWrites(b, name, f, data, sync)
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
//	go test -run '^$' -bench Targets . [-large]
//
// A missed target fails. Times are medians of at least 15 rounds, and each benchmark reports its time
// relative to the floor as "x-floor".
func BenchmarkTargets(b *testing.B) { bench.Targets(b, *large) }
