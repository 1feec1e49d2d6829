package mle

import (
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestTrustedKeyOfAnotherKind: a key that cannot have signed a file does not stand for
// no key, which would trust anybody.
func TestTrustedKeyOfAnotherKind(t *testing.T) {
	f := &parsed{sig: []byte{1}}
	for _, key := range []any{&rsa.PublicKey{}, make(ed25519.PublicKey, 5), "key"} {
		if got, err := f.trustedKey(key); !errors.Is(err, format.ErrSignature) {
			t.Errorf("%T: %v, %v, want %v", key, got, err, format.ErrSignature)
		}
	}
	f.sig = nil
	if got, err := f.trustedKey(make(ed25519.PublicKey, ed25519.PublicKeySize)); !errors.Is(err, format.ErrSignature) {
		t.Errorf("unsigned: %v, %v, want %v", got, err, format.ErrSignature)
	}
}

// TestProductThatWraps: (2^64-1)^2 leaves 1 in 64 bits, which is the size that is claimed.
func TestProductThatWraps(t *testing.T) {
	g := plainGolden()
	g.tensors[0] = gTensor{size: 1, shape: []uint32{1<<32 - 1, 641, 6700417, 1<<32 - 1, 641, 6700417}, dtype: 2}
	_, err := OpenBytes(g.build(), nil)
	var e *format.Error
	if !errors.Is(err, format.ErrCorrupt) || !errors.As(err, &e) || e.Field != "tensor descriptor 0 shape" {
		t.Error(err)
	}
}

// TestConstantsWithOneName: without placeholders the index alone sees names that occur twice.
func TestConstantsWithOneName(t *testing.T) {
	g := &gFile{version: 2, headerSize: headerText, metadata: `{"tensor_names":["w","w"]}`, weights: []byte{1, 2}}
	g.tensors = []gTensor{{offset: 0, size: 1, dtype: 2}, {offset: 1, size: 1, dtype: 2}}
	_, err := OpenBytes(g.build(), nil)
	var e *format.Error
	if !errors.Is(err, format.ErrCorrupt) || !errors.As(err, &e) || e.Field != namesKey || e.Offset != headerText {
		t.Error(err)
	}
}
