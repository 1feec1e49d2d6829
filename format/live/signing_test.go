package live

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/signing"
)

// signed is a directory with a model that has no checksums, and the bundle of one who is trusted.
type signed struct {
	t           testing.TB
	dir         string
	key, other  *ecdsa.PrivateKey
	path, model string
}

func newSigned(t testing.TB) *signed {
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	other, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &signed{t: t, dir: dir, key: key, other: other, path: filepath.Join(dir, "model.safetensors"), model: filepath.Join(t.TempDir(), "m.safetensors")}
}

// bytes returns a model whose values are all the same, and its configuration.
func (s *signed) bytes(value float32) (weights, config []byte) {
	writeModel(s.t, "safetensors", s.model, model{value: value})
	b, err := os.ReadFile(s.model)
	if err != nil {
		s.t.Fatal(err)
	}
	return b, []byte{byte(value), byte(int(value) >> 8)}
}

// bundle returns a signature of files like those.
func (s *signed) bundle(key *ecdsa.PrivateKey, weights, config []byte) []byte {
	dir := s.t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "model.safetensors"), weights, 0o666), os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666)); err != nil {
		s.t.Fatal(err)
	}
	b, err := signing.Sign(context.Background(), dir, signing.Signer{Key: key}, nil)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
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

func (s *signed) policy() *signing.Policy {
	return &signing.Policy{Trust: &signing.Trust{Keys: []crypto.PublicKey{s.key.Public()}}}
}

func (s *signed) open(o *Options) *Handle {
	o.Open = &format.Options{Trusted: s.policy()}
	h, err := Open(s.path, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { h.Close() })
	return h
}

// TestWatchSignature: a model that was refused because its bundle was not there is loaded when that comes, and again
// when its bundle changes in place.
func TestWatchSignature(t *testing.T) {
	s := newSigned(t)
	w, c := s.bytes(1)
	s.put(w, c, s.bundle(s.key, w, c))
	events := make(chan Event, 100)
	h := s.open(&Options{Interval: time.Millisecond, Notify: func(e Event) { events <- e }})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go h.Watch(ctx)
	w, c = s.bytes(2)
	s.put(w, c, nil)
	for e := range events {
		if e.Kind == Refused {
			break
		}
	}
	sig := s.bundle(s.key, w, c)
	replace(t, filepath.Join(s.dir, "model.sig"), sig)
	for current(t, h) != 2 {
		time.Sleep(time.Millisecond)
	}
	overwrite(t, filepath.Join(s.dir, "model.sig"), append(sig, '\n'))
	for h.Stats().Generation < 3 {
		time.Sleep(time.Millisecond)
	}
}
