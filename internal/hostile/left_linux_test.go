//go:build !weightmap_debug

// Under the race detector every mapping adds a line to /proc/self/maps, and reading it takes minutes.

package hostile

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/testhost"
)

// target is a model to open.
type target struct {
	name, path string
	options    format.Options
}

// sampled returns the samples, stored in a directory.
func sampled(t *testing.T, dir string) (all []target) {
	t.Helper()
	for _, s := range samples(t) {
		to := filepath.Join(dir, strings.ReplaceAll(s.String(), " ", "-"))
		store(t, to, s.files[0])
		o := s.options()
		o.Trusted = s.trust
		all = append(all, target{s.String(), filepath.Join(to, filepath.FromSlash(s.open)), *o})
	}
	return all
}

// collected returns the files in the corpora of all formats.
func collected(t *testing.T) (all []target) {
	t.Helper()
	for _, in := range []string{"*/testdata/corpus", "format/*/testdata/corpus", "format/*/testdata/corpus/*"} {
		indexes, err := filepath.Glob(filepath.Join("../..", in, corpus.IndexName))
		if err != nil || len(indexes) == 0 {
			t.Fatalf("%s: no corpora: %v", in, err)
		}
		for _, index := range indexes {
			root := testhost.RoundedCopy(t, filepath.Dir(index))
			for _, l := range corpus.Read(t, root) {
				x := target{name: filepath.Dir(index) + " " + l.Name, path: filepath.Join(root, filepath.FromSlash(l.File))}
				if l.Key != "" {
					if x.options.Key, err = hex.DecodeString(l.Key); err != nil {
						t.Fatal(err)
					}
				}
				all = append(all, x)
			}
		}
	}
	return all
}

// held counts the open files, mapped files and goroutines of the process.
func held(t *testing.T) map[string]int {
	t.Helper()
	h := map[string]int{}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc here: ", err)
	}
	files := testhost.OpenFiles()
	if files == nil {
		t.Skip("the system does not tell which files are open")
	}
	for _, name := range files {
		h["open "+name]++
	}
	for line := range strings.Lines(string(maps)) {
		// Address, access, offset, device, inode, path.
		if f := strings.Fields(line); len(f) > 5 && f[4] != "0" {
			h["mapped "+strings.Join(f[5:], " ")]++
		}
	}
	h[goroutines] = runtime.NumGoroutine()
	return h
}

const goroutines = "goroutines"

// nothingLeft compares the counts with earlier ones. Goroutines may take a moment to exit.
func nothingLeft(t *testing.T, before map[string]int, after string) {
	t.Helper()
	now := held(t)
	for wait := time.Microsecond; now[goroutines] > before[goroutines] && wait < 8*time.Second; wait *= 2 {
		time.Sleep(wait)
		now[goroutines] = runtime.NumGoroutine()
	}
	for what, n := range now {
		if n > before[what] {
			t.Errorf("%s: %s: %d, %d before", after, what, n, before[what])
			before[what] = n
		}
	}
}

// use opens a model, reads everything and closes it.
func use(path string, o *format.Options) error {
	m, err := format.Open(path, o)
	if err != nil {
		return err
	}
	_, err = m.Verify(context.Background())
	if o.Context != nil {
		_, _ = m.Verify(endingAfter(3))
	}
	_, _ = m.Graph()
	for _, v := range m.Tensors() {
		_, _ = v.Bytes()
	}
	return errors.Join(err, m.Close())
}

// TestNothingLeft: after any way to open a model, and any result, no file remains open or mapped and
// no goroutine runs. The garbage collector closes unreachable files, but not at once.
func TestNothingLeft(t *testing.T) {
	all := slices.Concat(sampled(t, t.TempDir()), collected(t))
	ways := map[string]func(*format.Options){
		"mapped":           func(o *format.Options) {},
		"checked":          func(o *format.Options) { o.Check = format.CheckAll },
		"locked":           func(o *format.Options) { o.Lock = true },
		"of little memory": func(o *format.Options) { o.MaxMemory = 10 << 10 },
	}
	before := held(t)
	opened := 0
	for i, x := range all {
		if thinly() && i%5 > 0 {
			continue
		}
		for name, change := range ways {
			o := x.options
			change(&o)
			if use(x.path, &o) == nil {
				opened++
			}
			nothingLeft(t, before, x.name+", "+name)
		}
		for looks := range int64(6) {
			o := x.options
			o.Context = endingAfter(looks)
			_ = use(x.path, &o)
			nothingLeft(t, before, x.name+", canceled")
		}
	}
	if opened < len(all)/5 {
		t.Errorf("%d models, which could be used only %d times", len(all), opened)
	}
}
