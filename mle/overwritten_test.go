package mle

import (
	"context"
	"crypto/ed25519"
	"os"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestKeyIsNotReadAgain checks that a public key written to the file after it was opened
// is not used: toggling the key must not make a foreign signature pass. What was parsed has changed, so
// the file was tampered with.
func TestKeyIsNotReadAgain(t *testing.T) {
	testhost.NeedMaps(t)
	_, forger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := written(t, mixedPlan(), &WriteOptions{Signer: forger})
	path := saved(t, b)
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	overwrite(t, path, int64(le.Uint64(b[gSig:]))+sigKey, trusted(testSigner))
	for _, key := range []ed25519.PublicKey{trusted(testSigner), nil} {
		if status, err := f.CheckSignature(context.Background(), key); err != nil || status != Tampered {
			t.Errorf("%v, %v, want Tampered", status, err)
		}
	}
	if err := verify(f, format.WithTrustedKey(trusted(testSigner))); err == nil {
		t.Error("a foreign signature is accepted")
	}
}

// overwrite changes bytes of a file in place, as another process may while the file is
// mapped.
func overwrite(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}
