package live

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

var errShape = errors.New("of another shape")

// demanding is what refuses everything that bads are.
func demanding() *Options {
	return &Options{
		Open: &format.Options{Trusted: trusted}, Verify: true, Warm: true,
		Validate: func(m *format.Model) error {
			v, err := m.Tensor("0")
			if err == nil && !v.Shape().Equal(tensor.Shape{elements}) {
				err = errShape
			}
			return err
		},
	}
}

// bad is a file that must not become current.
type bad struct {
	name  string
	bytes []byte
	want  error
}

func bads(t testing.TB) []bad {
	good := bytesOf(t, model{value: 66})
	corrupt := append([]byte(nil), good...)
	corrupt[len(corrupt)/2] ^= 1
	return []bad{
		{"corrupt", corrupt, format.ErrSignature},
		{"truncated", good[:len(good)-1000], format.ErrTruncated},
		{"empty", nil, format.ErrUnknownFormat},
		{"unsigned", bytesOf(t, model{value: 66, unsigned: true}), format.ErrSignature},
		{"of another shape", bytesOf(t, model{value: 66, elements: elements / 2}), errShape},
	}
}

// TestChangedWhileLoading: a file that changes after it was looked at is loaded anew, and refused when
// that does not end.
func TestChangedWhileLoading(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes int
		want    float32
		err     error
	}{
		{"once", 1, 11, nil},
		{"for ever", 100, 1, ErrChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var path string
			changes, value := 0, float32(10)
			h, path := start(t, &Options{Verify: true, Validate: func(*format.Model) error {
				if changes > 0 {
					changes--
					value++
					replace(t, path, bytesOf(t, model{value: value}))
				}
				return nil
			}})
			replace(t, path, bytesOf(t, model{value: value}))
			changes = tt.changes
			expect.Refused(t, tt.err)(h.Reload(t.Context()))
			if v := current(t, h); v != tt.want {
				t.Errorf("value %v, want %v", v, tt.want)
			}
			if s := h.Stats(); s.Old != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestBadSignature: with Verify, a model whose signature the key in the file did not make is not served, whoever
// is trusted (cases/seeds/badsig.mle).
func TestBadSignature(t *testing.T) {
	h, path := start(t, &Options{Verify: true})
	b := bytesOf(t, model{value: 2})
	b[len(b)-33] ^= 1 // of the signature, which 32 bytes follow
	replace(t, path, b)
	expect.Refused(t, format.ErrSignature)(h.Reload(t.Context()))
	if v := current(t, h); v != 1 {
		t.Errorf("value %v, want that of the old model", v)
	}
}

// TestQueuedReloads: of those that wait for one that loads, none loads again.
func TestQueuedReloads(t *testing.T) {
	h, path := start(t, nil)
	replace(t, path, bytesOf(t, model{value: 2}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if n, err := h.Reload(t.Context()); n != 2 || err != nil {
				t.Errorf("generation %d, %v", n, err)
			}
		})
	}
	all.Wait()
	if s := h.Stats(); s.Loads != 2 {
		t.Errorf("%d loads, want 2", s.Loads)
	}
}

// TestPreparedIsClosed: what was made of a model that is refused later is closed with it.
func TestPreparedIsClosed(t *testing.T) {
	c := &closer{make(chan uint64, 10)}
	path := filepath.Join(t.TempDir(), "model")
	replace(t, path, bytesOf(t, model{value: 1}))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Open(ctx, path, &Options{Prepare: func(context.Context, *format.Model) (any, error) {
		cancel()
		return c, nil
	}})
	if !errors.Is(err, context.Canceled) || len(c.closed) != 1 {
		t.Errorf("%v, closed %d times", err, len(c.closed))
	}
}

// TestOverwritten: a file that is changed in place is noticed, whether what it holds then is good or not.
func TestOverwritten(t *testing.T) {
	testhost.NeedReplace(t)
	testhost.NeedMaps(t)
	for _, good := range []bool{true, false} {
		o := demanding()
		var events []EventKind
		o.Notify = func(e Event) { events = append(events, e.Kind) }
		h, path := start(t, o)
		l, err := h.Acquire()
		expect.OK(t, err)
		defer l.Release()
		expect.OK(t, l.Intact())
		next := bytesOf(t, model{value: 2})
		if !good {
			next = bytesOf(t, model{value: 66, unsigned: true})
		}
		overwrite(t, path, next)
		expect.Refused(t, ErrOverwritten, "Intact")(nil, l.Intact())
		_, err = h.Reload(t.Context())
		s := h.Stats()
		want := []EventKind{Loaded, Overwritten, Loaded}
		if good {
			if err != nil || s.Overwritten || s.Generation != 2 || current(t, h) != 2 {
				t.Errorf("%v, %+v", err, s)
			}
		} else {
			want[2] = Refused
			if !errors.Is(err, format.ErrSignature) || !s.Overwritten || !s.Stale || s.Generation != 1 {
				t.Errorf("%v, %+v", err, s)
			}
		}
		if s.Overwrites != 1 {
			t.Errorf("%d overwrites", s.Overwrites)
		}
		expect.Equal(t, want, events)
	}
}

// overwrite changes a file in place. The times of some file systems are coarse: the file gets
// one that it did not have before.
func overwrite(t testing.TB, path string, b []byte) {
	t.Helper()
	info, err := os.Stat(path)
	expect.OK(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	expect.OK(t, err)
	_, err = f.WriteAt(b, 0)
	at := info.ModTime().Add(1e9)
	expect.OK(t, errors.Join(err, f.Truncate(int64(len(b))), f.Close(), os.Chtimes(path, at, at)))
}

// TestZero: the zero Lease holds nothing.
func TestZero(t *testing.T) {
	var l Lease
	l.Release()
	if l.Model() != nil || l.Value() != nil || l.Generation() != 0 || !errors.Is(l.Intact(), format.ErrClosed) {
		t.Error("the zero Lease holds something")
	}
}

// several are the kinds of models that have more than one file. make writes one at path.
var several = []struct {
	name  string
	files []string // below the directory of the path
	make  func(t *testing.T, path string, value float32)
}{
	{"tsr", []string{"model", "model/0.tsr", "model/1.tsr"}, func(t *testing.T, path string, value float32) {
		if err := os.RemoveAll(path); err != nil { // a directory with files is not replaced
			t.Fatal(err)
		}
		writeModel(t, "tsr", path, model{value: value})
	}},
	{"safetensors", []string{"model", "a.safetensors", "b.safetensors"}, func(t *testing.T, path string, value float32) {
		dir := filepath.Dir(path)
		for _, name := range []string{"a", "b"} {
			writeModel(t, "safetensors", filepath.Join(dir, name+".safetensors"), model{value: value})
		}
		replace(t, path, []byte(`{"metadata":{},"weight_map":{"0":"a.safetensors","1":"b.safetensors"}}`))
	}},
	{"wia", []string{"model", "w.bin"}, func(t *testing.T, path string, value float32) {
		writeModel(t, "wia", path, model{value: value, external: true})
	}},
}

func TestSeveralFiles(t *testing.T) {
	testhost.NeedReplace(t)
	testhost.NeedTimes(t)
	for _, tt := range several {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "model")
			tt.make(t, path, 1)
			h, err := Open(t.Context(), path, nil)
			expect.OK(t, err)
			defer h.Close()
			l, err := h.Acquire()
			expect.OK(t, err)
			defer l.Release()
			var files []string
			for _, f := range l.Model().Files() {
				files = append(files, filepath.ToSlash(strings.TrimPrefix(f, dir+string(filepath.Separator))))
			}
			if tt.name == "wia" {
				files[1] = "w.bin" // its name includes a hash
			}
			expect.Equal(t, tt.files, files)
			tt.make(t, path, 2)
			var w watcher
			w.looks(h, 2)
			if v := current(t, h); v != 2 {
				t.Errorf("value %v, want 2", v)
			}
			if v, err := predict(l.Model()); v != 1 || err != nil {
				t.Errorf("the old generation: value %v, %v", v, err)
			}
			reload(t, h, 2)
			l.Release()
			changed := h.current.Load().id.paths[len(tt.files)-1]
			overwrite(t, changed, mustRead(t, changed))
			w.looks(h, 2)
			if s := h.Stats(); s.Generation != 3 || testhost.Maps() && s.Overwrites != 1 || s.Failures != 0 {
				t.Errorf("after %s was overwritten with the same bytes: %+v", filepath.Base(changed), s)
			}
			expect.OK(t, os.Remove(changed))
			n, err := h.Reload(t.Context())
			if whole := tt.name == "tsr"; whole != (n == 4 && err == nil) || !whole && n != 3 {
				t.Errorf("without one of its files: generation %d, %v", n, err)
			}
		})
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b := expect.Read(t, path)
	return b
}
