package bench

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
)

// mapping returns a function that maps a file.
func mapping(path string) func() error { return func() error { return floor.Map(path) } }

// opening returns a function that opens a file by detection and closes it.
func opening(path string) func() error {
	return func() error {
		m, err := format.Open(path, nil)
		if err != nil {
			return err
		}
		return m.Close()
	}
}

// opened opens a file until the benchmark ends.
func opened(b *testing.B, path string) *format.Model {
	b.Helper()
	m, err := format.Open(path, nil)
	expect.OK(b, err)
	b.Cleanup(func() { m.Close() })
	return m
}

// open measures opening and closing, relative to mapping one file.
func (t *table) open() {
	bare := func(name string, m Model) measure {
		return func(b *testing.B) float64 {
			f := t.file(b, name, m)
			return floor.Pairs(b, opening(f.path), mapping(f.paths[0]))
		}
	}
	for _, name := range []string{"mag", "tsr", "mle", "wia", "mobi"} {
		s := small
		l := large
		if name == "tsr" {
			s = smallSingle
			l = largeSingle
		}
		t.figure("open/"+name+"/2MB", bare(name, s))
		t.figure("open/"+name+"/100MB", bare(name, l))
	}
	t.figure("open/tsr/directory20", bare("tsr", small))
	t.figure("open/tsr/directory300", bare("tsr", large))
}

// cold measures opening a file that is not in the page cache and has headers between the data,
// relative to reading those headers one by one.
func (t *table) cold() {
	for _, name := range []string{"npz", "onnx", "wia", "mobi"} {
		t.most("cold/"+name+"/100MB", 0.4, func(b *testing.B) float64 {
			path := t.file(b, name, large).path
			read := readingHeads(b, path)
			evict := func() error { return floor.Evict(path) }
			if err := evict(); err != nil {
				b.Skip("the cache of this file system cannot be emptied: ", err)
			}
			return floor.PairsOf(b, floor.Then(floor.Timed(opening(path)), evict), floor.Then(floor.Timed(read), evict)).Ratio
		})
	}
}

// readingHeads returns a function that reads the headers of all tensors in ascending order. Each
// ends where the tensor's data begins.
func readingHeads(b *testing.B, path string) func() error {
	m, err := format.Open(path, nil)
	expect.OK(b, err)
	defer m.Close()
	var p [256]byte // about the size of a header
	var heads []int64
	for _, v := range m.Tensors() {
		heads = append(heads, max(0, v.Info().Offset-int64(len(p))))
	}
	slices.Sort(heads)
	return func() error {
		f, err := os.Open(path)
		for i := 0; err == nil && i < len(heads); i++ {
			_, err = f.ReadAt(p[:], heads[i])
		}
		return errors.Join(err, f.Close())
	}
}
