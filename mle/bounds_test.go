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
