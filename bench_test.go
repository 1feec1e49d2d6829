// Package weightmap_test measures every registered format on three models, and
// in the same run what the machine itself takes, so that figures read as ratios:
//
//	go test -run '^$' -bench . .
//
// BenchmarkFloor is the machine: mapping and unmapping a file, reading every
// byte of it, writing it with one write. The other benchmarks report as
// "x-floor" how many times as long as their floor they took: the median of the
// ratios of rounds, of which one of each was measured after the other.
package weightmap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/tensor"
)

// model is what is written in each format.
type model struct {
	name string
	// plan returns the tensors, and their bytes in one slice, made once.
	plan func() (p *format.Plan, data []byte)
}

var models = []model{
	{"small", sync.OnceValues(func() (*format.Plan, []byte) {
		return gather(testmodel.Small(), testmodel.Tensor.Info, testmodel.Tensor.Bytes)
	})},
	{"large", sync.OnceValues(func() (*format.Plan, []byte) { return gather(testmodel.Large(), testmodel.Spec.Info, generated) })},
	{"many", sync.OnceValues(func() (*format.Plan, []byte) { return gather(testmodel.Many(), testmodel.Spec.Info, generated) })},
}

func generated(s testmodel.Spec) []byte { return s.Tensor().Bytes() }

// gather makes a plan of a list of tensors.
func gather[T any](list []T, info func(T) tensor.Info, data func(T) []byte) (*format.Plan, []byte) {
	p := &format.Plan{}
	var all []byte
	for _, t := range list {
		p.Tensors = append(p.Tensors, info(t))
		all = append(all, data(t)...)
	}
	return p, all
}

// numbered returns the plan with numbers for names, for formats without names.
func numbered(p *format.Plan) *format.Plan {
	n := &format.Plan{}
	for i, t := range p.Tensors {
		t.Name = strconv.Itoa(i)
		n.Tensors = append(n.Tensors, t)
	}
	return n
}

// temp holds the files of all benchmarks; TestMain removes it.
var temp string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weightmap-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	temp = dir
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// write writes a model, and returns the plan that the format could hold.
func write(name, path string, m model, o *format.WriteOptions) (*format.Plan, error) {
	p, data := m.plan()
	w, err := format.Create(name, path, p, o)
	if errors.Is(err, format.ErrPlan) {
		p = numbered(p)
		w, err = format.Create(name, path, p, o)
	}
	if err != nil {
		return nil, err
	}
	return p, feed(w, p, data)
}

// feed writes all tensors of p and closes w.
func feed(w format.Writer, p *format.Plan, data []byte) error {
	defer w.Abort()
	var r bytes.Reader
	for _, t := range p.Tensors {
		r.Reset(data[:t.Size])
		if err := w.WriteTensor(t.Name, &r); err != nil {
			return err
		}
		data = data[t.Size:]
	}
	return w.Close()
}

// written is a model file, written once in a process.
type written struct {
	path  string
	paths []string // of all its files
	plan  *format.Plan
	err   error
}

var files sync.Map // format/model -> func() written

// file returns the path of the model in the format, or skips the benchmark when
// the format cannot hold it.
func file(b *testing.B, name string, m model) written {
	b.Helper()
	make, _ := files.LoadOrStore(name+"/"+m.name, sync.OnceValue(func() (f written) {
		f.path = filepath.Join(temp, name+"-"+m.name)
		if f.plan, f.err = write(name, f.path, m, &format.WriteOptions{NoSync: true}); f.err == nil {
			f.paths, f.err = floor.Files(f.path)
		}
		return f
	}))
	f := make.(func() written)()
	if errors.Is(f.err, format.ErrPlan) || errors.Is(f.err, format.ErrUnsupported) {
		b.Skip(f.err)
	}
	if f.err != nil {
		b.Fatal(f.err)
	}
	return f
}

// each runs f for every format and model.
func each(b *testing.B, f func(b *testing.B, name string, m model)) {
	for _, name := range format.Formats() {
		for _, m := range models {
			b.Run(name+"/"+m.name, func(b *testing.B) { f(b, name, m) })
		}
	}
}

// plain writes the bytes of a model to one file and returns its path.
func plain(b *testing.B, m model) string {
	b.Helper()
	path := filepath.Join(temp, "plain-"+m.name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	_, data := m.plan()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}

// copyOnce writes data to a new file with one write.
func copyOnce(path string, data []byte, sync bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// copyEach writes each tensor to a new file in a new directory.
func copyEach(dir string, p *format.Plan, data []byte, sync bool) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for i, t := range p.Tensors {
		if err := copyOnce(filepath.Join(dir, strconv.Itoa(i)), data[:t.Size], sync); err != nil {
			return err
		}
		data = data[t.Size:]
	}
	return nil
}

// BenchmarkFloor is what the machine takes for the same bytes.
func BenchmarkFloor(b *testing.B) {
	for _, m := range models {
		b.Run("mmap/"+m.name, func(b *testing.B) {
			path := plain(b, m)
			for b.Loop() {
				if err := floor.Map(path); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("readsum/"+m.name, func(b *testing.B) {
			v := wholeFile(b, plain(b, m))
			b.SetBytes(v.Info().Size)
			for b.Loop() {
				if err := reading(v, 1)(); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, sync := range []bool{false, true} {
			b.Run("copy/"+m.name+"/"+synced(sync), func(b *testing.B) {
				_, data := m.plan()
				path := filepath.Join(b.TempDir(), "copy")
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if err := copyOnce(path, data, sync); err != nil {
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

// wholeFile maps a file and returns it as one tensor of bytes.
func wholeFile(b *testing.B, path string) tensor.View {
	b.Helper()
	f, err := format.With(bare{}).Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f.At(0)
}

// bare is the format whose files are one tensor of bytes.
type bare struct{}

func (bare) Describe() driver.Description { return driver.Description{Name: "bare"} }

func (bare) Detect([]byte, int64) bool { return true }

func (bare) Parse(src driver.Source, x *driver.Index, _ *driver.Options) (driver.File, error) {
	n := src.Size()
	x.Add(&driver.Tensor{Name: []byte("bytes"), DType: tensor.Uint8, Shape: tensor.Shape{n}, Size: n})
	return nil, nil
}

// reading reads every byte of a view on so many goroutines.
func reading(v tensor.View, workers int) func() error {
	return func() error {
		return v.Use(func(data []byte) error { floor.ReadOn(workers, data); return nil })
	}
}

// BenchmarkOpen opens by detection and closes; the floor is mapping and
// unmapping the same files.
func BenchmarkOpen(b *testing.B) {
	each(b, func(b *testing.B, name string, m model) {
		f := file(b, name, m)
		floor.Pairs(b, floor.Rounds, opening(f.path), mapping(f.paths...))
	})
}

// mapping maps files, one after the other.
func mapping(paths ...string) func() error {
	return func() error {
		for _, path := range paths {
			if err := floor.Map(path); err != nil {
				return err
			}
		}
		return nil
	}
}

// opening opens a file by detection and closes it.
func opening(path string) func() error {
	return func() error {
		m, err := format.Open(path, nil)
		if err != nil {
			return err
		}
		return m.Close()
	}
}

// BenchmarkLoad opens a model and reads every byte of its tensors, after whatever
// sum the format insists on; the floor is mapping the same files and reading them.
func BenchmarkLoad(b *testing.B) {
	each(b, func(b *testing.B, name string, m model) {
		f := file(b, name, m)
		floor.Pairs(b, floor.Rounds, loading(f.path, nil), func() error {
			for _, path := range f.paths {
				if err := floor.Load(path); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// BenchmarkTensor looks tensors up by name, in an order that jumps about, and
// views one as []float32.
func BenchmarkTensor(b *testing.B) {
	each(b, func(b *testing.B, name string, m model) {
		f := file(b, name, m)
		opened, err := format.Open(f.path, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer opened.Close()
		b.Run("lookup", func(b *testing.B) {
			b.ReportAllocs()
			n := len(f.plan.Tensors)
			names := make([]string, n)
			for i := range names {
				names[i] = f.plan.Tensors[i*7919%n].Name
			}
			for i := 0; b.Loop(); i++ {
				if _, err := opened.Tensor(names[i%n]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("as", func(b *testing.B) {
			b.ReportAllocs()
			v, err := opened.Tensor(f.plan.Tensors[0].Name)
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

// BenchmarkVerify checks everything an open file carries, on all processors;
// the floor is adding up the bytes of all tensors on as many.
func BenchmarkVerify(b *testing.B) {
	each(b, func(b *testing.B, name string, m model) {
		f, whole := file(b, name, m), wholeFile(b, plain(b, m))
		opened, err := format.Open(f.path, nil)
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
		floor.Pairs(b, floor.Rounds, verify, reading(whole, runtime.GOMAXPROCS(0)))
	})
}

// BenchmarkWrite writes a model from memory, with and without fsync; the floor
// is writing the same bytes likewise with one write, or each tensor's with one
// where the model is a directory.
func BenchmarkWrite(b *testing.B) {
	each(b, func(b *testing.B, name string, m model) {
		f := file(b, name, m)
		_, data := m.plan()
		for _, sync := range []bool{false, true} {
			b.Run(synced(sync), func(b *testing.B) {
				if st, err := os.Stat(f.path); err == nil && st.IsDir() && sync && len(f.plan.Tensors) > 1000 {
					b.Skip("one fsync for each of many files takes minutes")
				}
				benchmarkWrite(b, name, f, data, sync)
			})
		}
	})
}

// benchmarkWrite writes data as the files of f, and by turns as plain ones.
func benchmarkWrite(b *testing.B, name string, f written, data []byte, sync bool) float64 {
	dir := b.TempDir()
	ours, theirs := filepath.Join(dir, "model"), filepath.Join(dir, "copy")
	o := &format.WriteOptions{NoSync: !sync}
	plainly := func() error { return copyOnce(theirs, data, sync) }
	if len(f.paths) > 1 {
		plainly = func() error { return copyEach(theirs, f.plan, data, sync) }
	}
	// Freeing a file's pages takes as long as writing some: both start anew.
	r := floor.PairsOf(b, floor.Rounds, floor.Then(func() error {
		w, err := format.Create(name, ours, f.plan, o)
		if err != nil {
			return err
		}
		return feed(w, f.plan, data)
	}, func() error { return os.RemoveAll(ours) }), floor.Then(plainly, func() error { return os.RemoveAll(theirs) }))
	return r.Ratio
}
