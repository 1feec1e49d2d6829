package all_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// What is tested here is what programs do with what they passed in: they change it, wipe it,
// and their functions panic.

// TestKeysMayBeWiped: a key that was passed is a copy from then on.
func TestKeysMayBeWiped(t *testing.T) {
	p := &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "w", 64, 64)}}
	for _, kind := range []string{"mle", "wia"} {
		path := filepath.Join(t.TempDir(), "m."+kind)
		key := bytes.Repeat([]byte{7}, 32)
		w, err := format.Create(kind, path, p, &format.WriteOptions{NoSync: true, Storage: format.Storage{Key: key}})
		clear(key)
		must(t, feed(p, w, err))
		key = bytes.Repeat([]byte{7}, 32)
		m := open(t, path, &format.Options{Key: key})
		clear(key)
		b, err := m.At(0).Bytes()
		if !bytes.Equal(b, fill(0, p.Tensors[0])) || err != nil {
			t.Errorf("%s: other data, %v", kind, err)
		}
		if _, err := m.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// moody is a signer that panics.
type moody struct{ crypto.Signer }

func (moody) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { panic("the signer") }

// TestSignerPanics: there is no file that is not signed, and no second chance to make it.
func TestSignerPanics(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	dir := t.TempDir()
	p := &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "w", 4)}}
	w, err := format.Create("wia", filepath.Join(dir, "m.wia"), p, &format.WriteOptions{NoSync: true, Storage: format.Storage{Signer: moody{key}}})
	must(t, err)
	must(t, w.WriteTensor("w", bytes.NewReader(make([]byte, 16))))
	func() {
		defer func() {
			if thrown := recover(); thrown != "the signer" {
				t.Errorf("recovered %v", thrown)
			}
		}()
		_ = w.Close()
	}()
	unwritten(t, dir)
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), format.ErrAborted.Error()) {
		t.Errorf("Close again: %v", err)
	}
}
