package wia

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/testhost"
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
			text, err := os.ReadFile(file("key.pem"))
			testhost.Must(t, err)
			key, err := PrivateKey(text)
			testhost.Must(t, err)
			f := mustOpen(t, writeSample(t, samplePlan(t), &WriteOptions{Signer: key}), nil)
			testhost.Must(t, os.WriteFile(file("message"), f.f.signature.message(), 0o600))
			testhost.Must(t, os.WriteFile(file("signature"), f.f.signature.value, 0o600))
			out := run("dgst", "-sha256", "-verify", file("pub.pem"), "-signature", file("signature"), file("message"))
			if diff := cmp.Diff("Verified OK\n", string(out)); diff != "" {
				t.Error(diff)
			}
			pub, err := os.ReadFile(file("pub.pem"))
			testhost.Must(t, err)
			trusted, err := PublicKey(pub)
			testhost.Must(t, err)
			if err := verify(f, format.WithTrustedKey(trusted)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEncryption(t *testing.T) {
	b := writeSample(t, samplePlan(t), &WriteOptions{Key: testKey, Compression: Zstd})
	for _, key := range [][]byte{{}, testKey[:31]} {
		_, reading := OpenBytes(b, &format.Options{Key: key})
		_, writing := NewWriter(io.Discard, nil, &WriteOptions{Key: key})
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
	if at := f.f.hdr.blocks[tensorBlock].off; bytes.Equal(b[at:at+seal.NonceSize], again[at:at+seal.NonceSize]) {
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
				f, err := OpenBytes(c, &format.Options{Trusted: signer.Public()})
				if err != nil {
					continue
				}
				passed++
				want, got := *good.signature, *f.f.signature
				want.unknown, got.unknown = nil, nil
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
