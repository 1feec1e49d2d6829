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
	"github.com/weightmap/weightmap/internal/expect"
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
	expect.OK(t, os.Rename(path, path+".away"))
	w.looks(h, 10)
	if s := h.Stats(); !s.Missing || !s.Stale || s.Failures != 0 || current(t, h) != 1 {
		t.Errorf("%+v", s)
	}
	if n, err := h.Reload(t.Context()); n != 1 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Reload of nothing: %d, %v", n, err)
	}
	expect.OK(t, os.Rename(path+".away", path))
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
		expect.OK(t, os.Mkdir(at, 0o777))
		replace(t, filepath.Join(at, "model.mle"), bytesOf(t, model{value: value}))
		next := filepath.Join(dir, "..data_tmp")
		if err := os.Symlink(name, next); err != nil {
			t.Skip(err)
		}
		expect.OK(t, os.Rename(next, filepath.Join(dir, "..data")))
	}
	version("..1", 1)
	path := filepath.Join(dir, "model.mle")
	if err := os.Symlink(filepath.Join("..data", "model.mle"), path); err != nil {
		t.Skip(err)
	}
	h, err := Open(t.Context(), path, demanding())
	expect.OK(t, err)
	defer h.Close()
	var w watcher
	w.looks(h, 2)
	version("..2", 2)
	expect.OK(t, os.RemoveAll(filepath.Join(dir, "..1")))
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
	expect.Refused(t, context.Canceled)(nil, <-result)
	go func() { result <- h.Watch(t.Context()) }()
	for before := h.Stats().Looks; h.Stats().Looks == before; {
		time.Sleep(time.Millisecond)
	}
	expect.OK(t, h.Close())
	expect.Refused(t, format.ErrClosed)(nil, <-result)
}

// TestWatchSignature: a model that was refused because its bundle was not there is loaded when that comes, and again
// when its bundle changes in place.
func TestWatchSignature(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	dir := t.TempDir()
	path, sig := filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "model.sig")
	// put replaces a model that has no checksums, and its configuration, and returns the signature of both.
	put := func(value float32) []byte {
		from := t.TempDir()
		writeModel(t, "safetensors", filepath.Join(from, "model.safetensors"), model{value: value})
		expect.OK(t, os.WriteFile(filepath.Join(from, "config.json"), []byte{byte(value)}, 0o666))
		b, err := signing.Sign(t.Context(), from, signing.Signer{Key: key}, nil)
		expect.OK(t, err)
		for _, name := range []string{"model.safetensors", "config.json"} {
			replace(t, filepath.Join(dir, name), mustRead(t, filepath.Join(from, name)))
		}
		return b.Bytes()
	}
	replace(t, sig, put(1))
	events := make(chan Event, 100)
	policy := &signing.Policy{Trust: &signing.Trust{Keys: []crypto.PublicKey{key.Public()}}}
	h, err := Open(t.Context(), path, &Options{Open: &format.Options{Trusted: policy}, Interval: time.Millisecond, Notify: func(e Event) { events <- e }})
	expect.OK(t, err)
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go h.Watch(ctx)
	bundle := put(2)
	expect.OK(t, os.Remove(sig))
	for e := range events {
		if e.Kind == Refused {
			break
		}
	}
	replace(t, sig, bundle)
	for current(t, h) != 2 {
		time.Sleep(time.Millisecond)
	}
	overwrite(t, sig, append(bundle, '\n'))
	for h.Stats().Generation < 3 {
		time.Sleep(time.Millisecond)
	}
}

// TestRefusedOnce: a bad file that does not change is one event, however often it is tried; another bad file is another one.
func TestRefusedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mag")
	writeModel(t, "mag", path, model{value: 1})
	var refused []string
	h, err := Open(t.Context(), path, &Options{Notify: func(e Event) {
		if e.Kind == Refused {
			refused = append(refused, e.Err.Error())
		}
	}})
	expect.OK(t, err)
	defer h.Close()
	var w watcher
	for range 3 {
		replace(t, path, []byte("no model"))
		for range 40 {
			w.look(t.Context(), h)
		}
	}
	if s := h.Stats(); s.Failures < 9 || s.Generation != 1 {
		t.Errorf("%d failures, generation %d", s.Failures, s.Generation)
	}
	expect.Equal(t, 3, len(refused))
	writeModel(t, "mag", path, model{value: 2})
	for range 3 {
		w.look(t.Context(), h)
	}
	expect.Equal(t, float32(2), current(t, h))
}
