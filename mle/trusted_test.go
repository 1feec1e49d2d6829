package mle

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestTrusted checks opening with a trusted key.
func TestTrusted(t *testing.T) {
	signed := written(t, mixedPlan(), &WriteOptions{Signer: testSigner})
	mine := trusted(testSigner)
	other := trusted(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32)))
	flip := func(at uint64, n int) []byte {
		b := clone(signed)
		b[at+uint64(n)] ^= 1
		return b
	}
	renamed := bytes.Replace(signed, []byte("tensor_names"), []byte("tensor_namez"), 1)
	fixSums(renamed)
	for _, tt := range []struct {
		name string
		b    []byte
		key  crypto.PublicKey
		want error
	}{
		{"by the key", signed, mine, nil},
		{"by another", signed, other, format.ErrSignature},
		{"unsigned", written(t, mixedPlan(), &WriteOptions{}), mine, format.ErrSignature},
		{"version 1", written(t, mixedPlan(), &WriteOptions{Version: 1}), mine, format.ErrSignature},
		{"data changed", flip(le.Uint64(signed[48:]), 3), mine, format.ErrSignature},
		{"signature changed", flip(le.Uint64(signed[64:]), 50), mine, format.ErrSignature},
		{"structure changed with its sums", renamed, mine, format.ErrSignature},
		{"a key of another kind", signed, &rsa.PublicKey{}, format.ErrSignature},
		{"a private key", signed, testSigner, format.ErrKey},
		{"text", signed, "key", format.ErrKey},
		{"a nil key", signed, ed25519.PublicKey(nil), format.ErrKey},
		{"a short key", signed, mine[:31], format.ErrKey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &format.Options{Trusted: tt.key}
			f, err := OpenBytes(tt.b, o)
			if !errors.Is(err, tt.want) {
				t.Errorf("bytes: %v", err)
			}
			if err == nil {
				f.Close()
			}
			if f, err = Open(saved(t, tt.b), o); !errors.Is(err, tt.want) {
				t.Errorf("file: %v", err)
			}
			if err == nil {
				defer f.Close()
				if v := f.At(0); v.ZeroCopy() != testhost.AsHost(v.Info().DType.Size()) {
					t.Error("what was demanded to be signed is not mapped, or seems to be where hosts swap bytes")
				}
			}
		})
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
	signed := written(t, mixedPlan(), &WriteOptions{Signer: testSigner})
	forged := bytes.Clone(signed)
	at := bytes.Index(forged, []byte(`"tensor_names":["`)) + len(`"tensor_names":["`)
	forged[at] = 'Q'
	fixSums(forged)
	open := func(first []byte, o *format.Options) (*File, error) {
		return OpenReaderAt(&forgery{first, signed, make([]bool, len(signed))}, int64(len(signed)), o)
	}
	o := &format.Options{Trusted: trusted(testSigner)}
	if f, err := open(signed, o); err != nil {
		t.Fatal(err)
	} else {
		f.Close()
	}
	if _, err := open(forged, o); !errors.Is(err, format.ErrSignature) {
		t.Errorf("forged: %v", err)
	}
	f, err := open(forged, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if status, err := f.CheckSignature(t.Context(), trusted(testSigner)); status != Tampered || err != nil {
		t.Errorf("CheckSignature: %v, %v", status, err)
	}
}
