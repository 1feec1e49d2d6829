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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestOpenSSL makes keys and checks our signatures with openssl.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	run := func(args ...string) []byte {
		t.Helper()
		out, err := exec.Command(openssl, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
		return out
	}
	for name, genpkey := range map[string][]string{
		"rsa":   {"genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"},
		"ecdsa": {"genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name string) string { return filepath.Join(dir, name) }
			run(append(genpkey, "-out", file("key.pem"))...)
			run("pkey", "-in", file("key.pem"), "-pubout", "-out", file("pub.pem"))
			text := expect.Read(t, file("key.pem"))
			key, err := PrivateKey(text)
			expect.OK(t, err)
			f := mustOpen(t, writeSample(t, samplePlan(t), &WriteOptions{Signer: key}), nil)
			expect.OK(t, os.WriteFile(file("message"), f.f.signature.message(), 0o600))
			expect.OK(t, os.WriteFile(file("signature"), f.f.signature.value, 0o600))
			out := run("dgst", "-sha256", "-verify", file("pub.pem"), "-signature", file("signature"), file("message"))
			expect.Equal(t, "Verified OK\n", string(out))
			pub := expect.Read(t, file("pub.pem"))
			trusted, err := PublicKey(pub)
			expect.OK(t, err)
			expect.OK(t, verify(f, format.WithTrustedKey(trusted)))
		})
	}
}

func TestEncryption(t *testing.T) {
	b := writeSample(t, samplePlan(t), &WriteOptions{Key: testKey, Compression: Zstd})
	for _, key := range [][]byte{{}, testKey[:31]} {
		_, reading := openBytes(b, &format.Options{Key: key})
		_, writing := newWriter(io.Discard, nil, &WriteOptions{Key: key})
		if !errors.Is(reading, format.ErrKey) || !errors.Is(writing, format.ErrKey) {
			t.Errorf("key of %d bytes: %v, %v", len(key), reading, writing)
		}
	}
	f := mustOpen(t, b, &format.Options{Key: testKey})
	if !f.Encrypted() || f.Model.NeedsKey() || f.Compression() != Zstd {
		t.Error("header")
	}
	for name, v := range f.Tensors() {
		if info := v.Info(); info.Offset != -1 || v.ZeroCopy() && info.Size > 0 {
			t.Errorf("%s: offset %d, zero-copy %v", name, info.Offset, v.ZeroCopy())
		}
	}
	again := writeSample(t, samplePlan(t), &WriteOptions{Key: testKey, Compression: Zstd})
	if at := f.f.hdr.blocks[tensorBlock].off; bytes.Equal(b[at:at+12], again[at:at+12]) {
		t.Error("a nonce was used twice")
	}
}

// TestBitsOfTheSignatureBlock flips every bit of the block. The file is refused, or
// the digests, the timestamp and the signature are the same, and the key is the
// same or missing.
func TestBitsOfTheSignatureBlock(t *testing.T) {
	for name, signer := range map[string]crypto.Signer{"RSA": rsaSigner, "ECDSA": ecKey} {
		b := writeSample(t, tinyPlan(), &WriteOptions{Signer: signer})
		good := mustOpen(t, b, nil).f
		s, passed := good.hdr.blocks[signatureBlock], 0
		for i := s.off; i < s.end(); i++ {
			for bit := range 8 {
				c := bytes.Clone(b)
				c[i] ^= 1 << bit
				f, err := openBytes(c, &format.Options{Trusted: signer.Public()})
				if err != nil {
					continue
				}
				passed++
				want, got := *good.signature, *f.f.signature
				if got.key == nil {
					want.key = nil
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(signatures{})); diff != "" {
					t.Errorf("%s: bit %d of byte %d: -want +got\n%s", name, bit, i-s.off, diff)
				}
				f.Close()
			}
		}
		if passed == 0 {
			t.Errorf("%s: no bit is in what nobody signed, which the documentation says there is", name)
		}
	}
}

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
			f, err := openBytes(tt.b, &tt.o)
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
	expect.OK(t, err)
	for _, signer := range []crypto.Signer{
		(*rsa.PrivateKey)(nil), (*ecdsa.PrivateKey)(nil), &rsa.PrivateKey{}, &ecdsa.PrivateKey{}, ed25519.PrivateKey(nil), ed25519.PrivateKey{1},
		nilSigner{}, p384, ed25519.NewKeyFromSeed(testKey),
	} {
		if _, err := newWriter(io.Discard, tinyPlan(), &WriteOptions{Signer: signer}); !errors.Is(err, format.ErrKey) || !errors.Is(err, format.ErrPlan) {
			t.Errorf("%T: %v", signer, err)
		}
	}
}

// TestSignatureLength checks that a signature fits the block whose size the header states.
func TestSignatureLength(t *testing.T) {
	for n, want := range map[int]error{100: format.ErrSignature, 200: nil, 254: nil, 255: format.ErrSignature, 256: nil, 300: format.ErrSignature} {
		w, err := newWriter(&bytes.Buffer{}, &format.Plan{}, &WriteOptions{Signer: fixedSigner{rsaSigner, n}})
		expect.OK(t, err)
		expect.Refused(t, want, "a signature of", n, "bytes")(nil, w.Close())
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
