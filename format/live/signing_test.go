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
	b, err := signing.Sign(context.Background(), dir, signing.Signer{Key: s.key}, nil)
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
	ctx, cancel := context.WithCancel(context.Background())
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
