package bench

import (
	"cmp"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
)

// coldVerdicts measures opening a file that is not in the page cache and has headers between the data,
// relative to reading those headers one by one.
func coldVerdicts() (all []verdict) {
	for _, name := range []string{"npz", "onnx", "wia", "mobi"} {
		all = append(all, verdict{name: "cold/" + name + "/100MB", limit: 0.4, figure: func(b *testing.B) float64 {
			path := File(b, name, Models[1]).Path
			if err := floor.Evict([]string{path}); err != nil {
				b.Skip("the cache of this file system cannot be emptied: ", err)
			}
			heads := headsOf(b, path)
			return floor.PairsOf(b, floor.Rounds, evicted(path, Opening(path)), evicted(path, func() error { return readEach(path, heads) })).Ratio
		}})
	}
	return all
}

// evicted returns a round of op in which the file is evicted from the page cache before each run.
func evicted(path string, op func() error) floor.Round {
	return func(n int) (took time.Duration, err error) {
		for range n {
			if err := floor.Evict([]string{path}); err != nil {
				return 0, err
			}
			start := time.Now()
			if err := op(); err != nil {
				return 0, err
			}
			took += time.Since(start)
		}
		return took, nil
	}
}

// headBytes is the approximate size of a tensor's header.
const headBytes = 256

// headsOf returns the offsets of the tensors' headers in ascending order. Each header ends where the
// tensor's data begins.
func headsOf(b *testing.B, path string) (heads []int64) {
	m, err := format.Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for _, v := range m.Tensors() {
		heads = append(heads, max(0, v.Info().Offset-headBytes))
	}
	slices.SortFunc(heads, cmp.Compare[int64])
	return heads
}

// readEach opens a file and reads the headers.
func readEach(path string, heads []int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var p [headBytes]byte
	for _, off := range heads {
		if _, err := f.ReadAt(p[:], off); err != nil {
			return err
		}
	}
	return nil
}

// readVerdicts counts the reads of opening a file with many small entries.
func readVerdicts() []verdict {
	return []verdict{{name: "reads/npz/10000", limit: 100, counts: true, figure: func(b *testing.B) float64 {
		f, err := os.Open(File(b, "npz", Models[2]).Path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			b.Fatal(err)
		}
		r := &countedReads{f: f}
		for b.Loop() {
			r.n = 0
			m, err := format.OpenReaderAt(r, info.Size(), nil)
			if err != nil {
				b.Fatal(err)
			}
			m.Close()
		}
		b.ReportMetric(float64(r.n), "reads")
		return float64(r.n)
	}}}
}

// countedReads counts the reads of a file.
type countedReads struct {
	f *os.File
	n int
}

func (r *countedReads) ReadAt(p []byte, off int64) (int, error) {
	r.n++
	return r.f.ReadAt(p, off)
}
