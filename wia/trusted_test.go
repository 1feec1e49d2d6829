package wia

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestTrusted checks opening with a trusted key.
func TestTrusted(t *testing.T) {
	signer, other := ecKey, rsaSigner
	signed := writeSample(t, samplePlan(t), &WriteOptions{Signer: signer})
	mine := signer.Public()
	f := mustOpen(t, signed, nil)
	changed := bytes.Clone(signed)
	changed[f.f.hdr.blocks[tensorBlock].off+f.f.hdr.blocks[tensorBlock].size-1] ^= 1
	for _, tt := range []struct {
		name string
		b    []byte
		o    format.Options
		want error
	}{
		{"by the key", signed, format.Options{Trusted: mine}, nil},
		{"by another", signed, format.Options{Trusted: other.Public()}, format.ErrSignature},
		{"unsigned", writeSample(t, samplePlan(t), &WriteOptions{}), format.Options{Trusted: mine}, format.ErrSignature},
		{"data changed", changed, format.Options{Trusted: mine}, format.ErrChecksum},
		{"a nil ECDSA key", signed, format.Options{Trusted: (*ecdsa.PublicKey)(nil)}, format.ErrKey},
		{"an empty RSA key", signed, format.Options{Trusted: &rsa.PublicKey{}}, format.ErrKey},
		{"an ECDSA key without a point", signed, format.Options{Trusted: &ecdsa.PublicKey{Curve: elliptic.P256()}}, format.ErrKey},
		{"a private key", signed, format.Options{Trusted: signer}, format.ErrKey},
		{"an ECDSA key by value", signed, format.Options{Trusted: signer.PublicKey}, format.ErrKey},
		{"a key of another kind", signed, format.Options{Trusted: make(ed25519.PublicKey, ed25519.PublicKeySize)}, format.ErrSignature},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := OpenBytes(tt.b, &tt.o)
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil || tt.name == "unsigned" && !strings.Contains(err.Error(), "is not signed") {
				t.Error(err)
			}
			if err == nil {
				f.Close()
			}
		})
	}
}

// TestUnusableSigners checks that signers of other kinds and typed nil signers are refused.
func TestUnusableSigners(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	testhost.Must(t, err)
	for _, signer := range []crypto.Signer{
		(*rsa.PrivateKey)(nil), (*ecdsa.PrivateKey)(nil), &rsa.PrivateKey{}, &ecdsa.PrivateKey{}, ed25519.PrivateKey(nil), ed25519.PrivateKey{1},
		nilSigner{}, p384, ed25519.NewKeyFromSeed(testKey),
	} {
		if _, err := NewWriter(io.Discard, tinyPlan(), &WriteOptions{Signer: signer}); !errors.Is(err, format.ErrKey) || !errors.Is(err, format.ErrPlan) {
			t.Errorf("%T: %v", signer, err)
		}
	}
}

// TestSignatureLength checks that a signature fits the block whose size the header states.
func TestSignatureLength(t *testing.T) {
	for n, want := range map[int]error{100: format.ErrSignature, 200: nil, 254: nil, 255: format.ErrSignature, 256: nil, 300: format.ErrSignature} {
		w, err := NewWriter(&bytes.Buffer{}, &format.Plan{}, &WriteOptions{Signer: fixedSigner{rsaSigner, n}})
		testhost.Must(t, err)
		if err := w.Close(); !errors.Is(err, want) {
			t.Errorf("a signature of %d bytes: %v, want %v", n, err, want)
		}
	}
}

// fixedSigner returns signatures of n bytes.
type fixedSigner struct {
	*rsa.PrivateKey
	n int
}

func (s fixedSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, s.n), nil
}

// nilSigner is a signer of an unknown type without a key.
type nilSigner struct{ crypto.Signer }

func (nilSigner) Public() crypto.PublicKey { return (*ecdsa.PublicKey)(nil) }
