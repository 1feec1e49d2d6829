package live

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/internal/testhost"
)

// looks has w look so many times.
func (w *watcher) looks(h *Handle, n int) {
	for range n {
		w.look(context.Background(), h)
	}
}

// TestWatchTakesTwoLooks: what changes from look to look is left alone.
func TestWatchTakesTwoLooks(t *testing.T) {
	h, path := start(t, demanding())
	var w watcher
	w.looks(h, 3)
	next := bytesOf(t, model{value: 2})
	for n := 1000; n < len(next); n += 5000 { // being copied
		replace(t, path, next[:n])
		w.looks(h, 1)
	}
	if s := h.Stats(); s.Failures != 0 || !s.Stale {
		t.Errorf("half a file was loaded: %+v", s)
	}
	replace(t, path, next)
	w.looks(h, 2)
	if s := h.Stats(); s.Generation != 2 || s.Failures != 0 || current(t, h) != 2 {
		t.Errorf("%+v", s)
	}
}

// TestWatchBacksOff: what fails for other reasons than the file is tried again, ever more rarely.
func TestWatchBacksOff(t *testing.T) {
	var fails error
	h, path := start(t, &Options{Validate: func(*format.Model) error { return fails }})
	fails = &fs.PathError{Op: "open", Path: "something", Err: errors.New("too many open files")}
	replace(t, path, bytesOf(t, model{value: 2}))
	var w watcher
	w.looks(h, 1)
	tried, last := []int(nil), uint64(0)
	for look := range 400 {
		w.looks(h, 1)
		if n := h.Stats().Failures; n != last {
			tried, last = append(tried, look), n
		}
	}
	for i := 1; i < len(tried); i++ {
		if pause := tried[i] - tried[i-1]; pause != min(1<<(i-1), mostSkipped) {
			t.Errorf("tried at %v", tried)
			break
		}
	}
	if len(tried) < 9 {
		t.Errorf("tried at %v", tried)
	}
	fails = nil
	w.looks(h, mostSkipped+1)
	if v := current(t, h); v != 2 {
		t.Errorf("value %v, want 2", v)
	}
}

// TestWatchMissing: a file that is not there is waited for.
func TestWatchMissing(t *testing.T) {
	h, path := start(t, nil)
	var w watcher
	must(t, os.Rename(path, path+".away"))
	w.looks(h, 10)
	if s := h.Stats(); !s.Missing || !s.Stale || s.Failures != 0 || current(t, h) != 1 {
		t.Errorf("%+v", s)
	}
	if n, err := h.Reload(t.Context()); n != 1 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Reload of nothing: %d, %v", n, err)
	}
	must(t, os.Rename(path+".away", path))
	w.looks(h, 10) // renaming may have changed the ctime
	if s := h.Stats(); s.Missing || s.Stale || s.Failures != 1 || current(t, h) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestWatchFollowsLinks: volumes of Kubernetes are a link to a link, of which the inner one is replaced.
func TestWatchFollowsLinks(t *testing.T) {
	testhost.NeedLinks(t)
	dir := t.TempDir()
	version := func(name string, value float32) {
		t.Helper()
		at := filepath.Join(dir, name)
		must(t, os.Mkdir(at, 0o777))
		replace(t, filepath.Join(at, "model.mle"), bytesOf(t, model{value: value}))
		next := filepath.Join(dir, "..data_tmp")
		if err := os.Symlink(name, next); err != nil {
			t.Skip(err)
		}
		must(t, os.Rename(next, filepath.Join(dir, "..data")))
	}
	version("..1", 1)
	path := filepath.Join(dir, "model.mle")
	if err := os.Symlink(filepath.Join("..data", "model.mle"), path); err != nil {
		t.Skip(err)
	}
	h, err := Open(path, demanding())
	must(t, err)
	defer h.Close()
	var w watcher
	w.looks(h, 2)
	version("..2", 2)
	must(t, os.RemoveAll(filepath.Join(dir, "..1")))
	w.looks(h, 2)
	if s := h.Stats(); s.Generation != 2 || s.Overwrites != 0 || current(t, h) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestWatch(t *testing.T) {
	o := demanding()
	o.Interval = time.Millisecond
	loaded := make(chan uint64, 10)
	o.Notify = func(e Event) {
		if e.Kind == Loaded {
			loaded <- e.Generation
		}
	}
	h, path := start(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- h.Watch(ctx) }()
	for n := <-loaded; n < 5; {
		replace(t, path, bytesOf(t, model{value: float32(n + 1)}))
		n = <-loaded
		if v := current(t, h); v != float32(n) {
			t.Errorf("value %v, want %d", v, n)
		}
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { result <- h.Watch(t.Context()) }()
	for before := h.Stats().Looks; h.Stats().Looks == before; {
		time.Sleep(time.Millisecond)
	}
	must(t, h.Close())
	if err := <-result; !errors.Is(err, format.ErrClosed) {
		t.Error(err)
	}
}

// signed is a directory with a model that has no checksums, and the bundle of one who is trusted.
type signed struct {
	t         testing.TB
	dir, path string
	key       *ecdsa.PrivateKey
}

func newSigned(t testing.TB) *signed {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	dir := t.TempDir()
	return &signed{t, dir, filepath.Join(dir, "model.safetensors"), key}
}

// signed returns a model whose values are all the same, its configuration, and the signature of both.
func (s *signed) signed(value float32) (weights, config, bundle []byte) {
	dir := s.t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	writeModel(s.t, "safetensors", path, model{value: value})
	weights, err := os.ReadFile(path)
	config = []byte{byte(value)}
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666)); err != nil {
		s.t.Fatal(err)
	}
	b, err := signing.Sign(s.t.Context(), dir, signing.Signer{Key: s.key}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return weights, config, b.Bytes()
}

// put replaces all files; nil is none.
func (s *signed) put(weights, config, bundle []byte) {
	replace(s.t, s.path, weights)
	replace(s.t, filepath.Join(s.dir, "config.json"), config)
	if sig := filepath.Join(s.dir, "model.sig"); bundle != nil {
		replace(s.t, sig, bundle)
	} else if err := os.Remove(sig); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
}

// TestWatchSignature: a model that was refused because its bundle was not there is loaded when that comes, and again
// when its bundle changes in place.
func TestWatchSignature(t *testing.T) {
	s := newSigned(t)
	s.put(s.signed(1))
	events := make(chan Event, 100)
	policy := &signing.Policy{Trust: &signing.Trust{Keys: []crypto.PublicKey{s.key.Public()}}}
	h, err := Open(s.path, &Options{Open: &format.Options{Trusted: policy}, Interval: time.Millisecond, Notify: func(e Event) { events <- e }})
	must(t, err)
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go h.Watch(ctx)
	w, c, sig := s.signed(2)
	s.put(w, c, nil)
	for e := range events {
		if e.Kind == Refused {
			break
		}
	}
	replace(t, filepath.Join(s.dir, "model.sig"), sig)
	for current(t, h) != 2 {
		time.Sleep(time.Millisecond)
	}
	overwrite(t, filepath.Join(s.dir, "model.sig"), append(sig, '\n'))
	for h.Stats().Generation < 3 {
		time.Sleep(time.Millisecond)
	}
}
