package all

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
	p := func() *format.Plan { return &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "w", 64, 64)}} }
	for _, kind := range []string{"mle", "wia"} {
		path := filepath.Join(t.TempDir(), "m."+kind)
		key := bytes.Repeat([]byte{7}, 32)
		w, err := format.Create(kind, path, p(), &format.WriteOptions{NoSync: true, Storage: format.Storage{Key: key}})
		if err != nil {
			t.Fatal(err)
		}
		clear(key)
		if err := w.WriteTensor("w", bytes.NewReader(fill(0, p().Tensors[0]))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		key = bytes.Repeat([]byte{7}, 32)
		m, err := format.Open(path, &format.Options{Key: key})
		if err != nil {
			t.Fatal(kind, err)
		}
		clear(key)
		b, err := m.At(0).Bytes()
		if !bytes.Equal(b, fill(0, p().Tensors[0])) || err != nil {
			t.Errorf("%s: other data, %v", kind, err)
		}
		if _, err := m.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		m.Close()
	}
}

// moody is a signer that panics.
type moody struct{ crypto.Signer }

func (moody) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { panic("the signer") }

// TestSignerPanics: there is no file that is not signed, and no second chance to make it.
func TestSignerPanics(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "w", 4)}}
	w, err := format.Create("wia", filepath.Join(dir, "m.wia"), p, &format.WriteOptions{NoSync: true, Storage: format.Storage{Signer: moody{key}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteTensor("w", bytes.NewReader(make([]byte, 16))); err != nil {
		t.Fatal(err)
	}
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
