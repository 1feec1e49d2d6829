package mle

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"os"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestKeyIsNotReadAgain checks that a public key written to the file after it was opened
// is not used: toggling the key must not make a foreign signature pass. What was parsed has changed, so
// the file was tampered with.
func TestKeyIsNotReadAgain(t *testing.T) {
	testhost.NeedMaps(t)
	_, forger, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	b := written(t, mixedSchema(), &format.WriteOptions{Signer: forger})
	path := saved(t, b)
	f, err := Open(path, nil)
	expect.OK(t, err)
	defer f.Close()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	expect.OK(t, err)
	defer file.Close()
	if _, err := file.WriteAt(trusted(testSigner), int64(le.Uint64(b[gSig:]))+sigKey); err != nil {
		t.Fatal(err)
	}
	for _, key := range []crypto.PublicKey{trusted(testSigner), nil} {
		state, err := f.CheckSignature(context.Background(), key)
		expect.OK(t, err)
		expect.Equal(t, format.SignatureBad, state)
	}
	if err := verifySigner(f, trusted(testSigner)); err == nil {
		t.Error("a foreign signature is accepted")
	}
}

// forgery is a reader that returns each byte of one file on its first read, and of another
// file afterwards.
type forgery struct {
	first, then []byte
	shown       []bool
}

func (r *forgery) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, r.then[off:])
	for i := range p[:n] {
		if k := int(off) + i; !r.shown[k] {
			r.shown[k], p[i] = true, r.first[k]
		}
	}
	return n, nil
}

// TestSignedIsWhatWasParsed checks that a file that changes between parsing and hashing
// fails verification, even if every checksum matches.
func TestSignedIsWhatWasParsed(t *testing.T) {
	signed := written(t, mixedSchema(), &format.WriteOptions{Signer: testSigner})
	forged := bytes.Clone(signed)
	at := bytes.Index(forged, []byte(`"tensor_names":["`)) + len(`"tensor_names":["`)
	forged[at] = 'Q'
	fixSums(forged)
	open := func(first []byte, o *format.Options) (*File, error) {
		return openReaderAt(&forgery{first, signed, make([]bool, len(signed))}, int64(len(signed)), o)
	}
	o := &format.Options{Trusted: format.TrustKey(trusted(testSigner))}
	if f, err := open(signed, o); err != nil {
		t.Fatal(err)
	} else {
		f.Close()
	}
	expect.Refused(t, format.ErrSignature, "forged")(open(forged, o))
	f, err := open(forged, nil)
	expect.OK(t, err)
	defer f.Close()
	state, err := f.CheckSignature(t.Context(), trusted(testSigner))
	expect.OK(t, err)
	expect.Equal(t, format.SignatureBad, state)
}
