package wia

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/messages"
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
			text := expect.Read(t, file("key.pem"))
			key, err := PrivateKey(text)
			expect.OK(t, err)
			f := mustOpen(t, writeSample(t, sampleSchema(t), &format.WriteOptions{Signer: key}), nil)
			expect.OK(t, os.WriteFile(file("message"), f.f.signature.message(), 0o600))
			expect.OK(t, os.WriteFile(file("signature"), f.f.signature.value, 0o600))
			out := run("dgst", "-sha256", "-verify", file("pub.pem"), "-signature", file("signature"), file("message"))
			expect.Equal(t, "Verified OK\n", string(out))
			pub := expect.Read(t, file("pub.pem"))
			trusted, err := PublicKey(pub)
			expect.OK(t, err)
			expect.OK(t, verifySigner(f, trusted))
		})
	}
}

func TestEncryption(t *testing.T) {
	b := writeSample(t, sampleSchema(t), &format.WriteOptions{Key: testKey, Compression: "zstd"})
	for _, key := range [][]byte{{}, testKey[:31]} {
		_, reading := openBytes(b, &format.Options{Key: key})
		_, writing := newWriter(io.Discard, nil, &format.WriteOptions{Key: key})
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
	again := writeSample(t, sampleSchema(t), &format.WriteOptions{Key: testKey, Compression: "zstd"})
	if at := f.f.hdr.blocks[tensorBlock].off; bytes.Equal(b[at:at+12], again[at:at+12]) {
		t.Error("a nonce was used twice")
	}
}

// TestBitsOfTheSignatureBlock flips every bit of the block. The file is refused, or
// the digests, the timestamp and the signature are the same, and the key is the
// same or missing.
func TestBitsOfTheSignatureBlock(t *testing.T) {
	for name, signer := range map[string]crypto.Signer{"RSA": rsaSigner, "ECDSA": ecKey} {
		b := writeSample(t, tinySchema(), &format.WriteOptions{Signer: signer})
		good := mustOpen(t, b, nil).f
		s, passed := good.hdr.blocks[signatureBlock], 0
		for i := s.off; i < s.end(); i++ {
			for bit := range 8 {
				c := bytes.Clone(b)
				c[i] ^= 1 << bit
				f, err := openBytes(c, &format.Options{Trusted: format.TrustKey(signer.Public())})
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

// TestBadSignature is cases/seeds/badsig.wia: a signature that the key in the file did not make, over another message
// or with one bit flipped. Nobody gave a key. Opening and reading do not check it, Verify and CheckClaim do.
func TestBadSignature(t *testing.T) {
	const text = "the signature was not made by the key in the file"
	huge := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(3), 20_000), E: 65537}
	huge.N.SetBit(huge.N, 0, 1)
	for name, signer := range map[string]crypto.Signer{"RSA": rsaSigner, "ECDSA": ecKey} {
		b := writeSample(t, sampleSchema(t), &format.WriteOptions{Signer: signer})
		good := mustOpen(t, b, nil)
		expect.OK(t, verify(good))
		expect.OK(t, good.CheckClaim())
		g := good.f.signature
		digest := sha256.Sum256([]byte("another message"))
		another, err := signer.Sign(rand.Reader, digest[:], crypto.SHA256)
		expect.OK(t, err)
		for _, tt := range []struct {
			name, says string
			change     func(g *signatures)
		}{
			{"over another message", text, func(g *signatures) { g.value = another }},
			{"a bit of the signature", text, func(g *signatures) { g.value = bytes.Clone(g.value); g.value[len(g.value)-1] ^= 1 }},
			{"no signature", text, func(g *signatures) { g.value = nil }},
			{"another time", text, func(g *signatures) { g.signer.Timestamp++ }},
			{"a key that cannot be parsed", text, func(g *signatures) { g.key = []byte{1} }},
			{"another algorithm", text, func(g *signatures) { g.signer.Algorithm = "none" }},
			{"an RSA key of 20,002 bits", "the RSA key in the file has 20002 bits, at most 16384 are checked", func(g *signatures) {
				g.key, err = x509.MarshalPKIXPublicKey(huge)
				expect.OK(t, err)
			}},
			{"no key", "", func(g *signatures) { g.key = nil }},
		} {
			changed := *g
			tt.change(&changed)
			f := mustOpen(t, resigned(t, b, good, &changed), &format.Options{Check: format.CheckTouch})
			_, err := f.At(0).Bytes()
			expect.OK(t, err)
			verified, claimed := verify(f), f.CheckClaim()
			if tt.says == "" {
				expect.OK(t, verified)
				expect.OK(t, claimed)
				continue
			}
			for _, err := range []error{verified, claimed} {
				if !errors.Is(err, format.ErrSignature) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%s, %s: %v", name, tt.name, err)
				}
			}
		}
	}
}

// resigned returns the file b with another signature block. The header, whose digest the block has, states its size,
// so digests are made anew where the block is larger.
func resigned(t *testing.T, b []byte, good *File, g *signatures) []byte {
	t.Helper()
	s := good.f.hdr.blocks[signatureBlock]
	if s.end() != int64(len(b)) {
		t.Fatal("the signature block is not the last")
	}
	out := bytes.Clone(b[:s.off])
	block := g.encode()
	gap := int(s.size) - len(block)
	if gap < 2 {
		gap = 0
		binary.LittleEndian.PutUint64(out[64:], uint64(len(block)))
		sum := sha256.Sum256(out[:256])
		g.sums[0] = sum[:]
		block = g.encode()
	} else {
		block = messages.AppendBytes(block, 15, make([]byte, gap-2))
		if len(block) != int(s.size) { // a length of two bytes
			block = messages.AppendBytes(g.encode(), 15, make([]byte, gap-3))
		}
	}
	return append(out, block...)
}

// TestTrusted checks opening with a trusted key.
func TestTrusted(t *testing.T) {
	signer, other := ecKey, rsaSigner
	signed := writeSample(t, sampleSchema(t), &format.WriteOptions{Signer: signer})
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
		{"by the key", signed, format.Options{Trusted: format.TrustKey(mine)}, nil},
		{"by another", signed, format.Options{Trusted: format.TrustKey(other.Public())}, format.ErrSignature},
		{"unsigned", writeSample(t, sampleSchema(t), nil), format.Options{Trusted: format.TrustKey(mine)}, format.ErrSignature},
		{"data changed", changed, format.Options{Trusted: format.TrustKey(mine)}, format.ErrChecksum},
		{"a nil ECDSA key", signed, format.Options{Trusted: format.TrustKey((*ecdsa.PublicKey)(nil))}, format.ErrKey},
		{"an empty RSA key", signed, format.Options{Trusted: format.TrustKey(&rsa.PublicKey{})}, format.ErrKey},
		{"an ECDSA key without a point", signed, format.Options{Trusted: format.TrustKey(&ecdsa.PublicKey{Curve: elliptic.P256()})}, format.ErrKey},
		{"a private key", signed, format.Options{Trusted: format.TrustKey(signer)}, format.ErrKey},
		{"an ECDSA key by value", signed, format.Options{Trusted: format.TrustKey(signer.PublicKey)}, format.ErrKey},
		{"a key of another kind", signed, format.Options{Trusted: format.TrustKey(make(ed25519.PublicKey, ed25519.PublicKeySize))}, format.ErrSignature},
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
		if _, err := newWriter(io.Discard, tinySchema(), &format.WriteOptions{Signer: signer}); !errors.Is(err, format.ErrKey) || !errors.Is(err, format.ErrSchema) {
			t.Errorf("%T: %v", signer, err)
		}
	}
}

// TestSignatureLength checks that a signature fits the block whose size the header states.
func TestSignatureLength(t *testing.T) {
	for n, want := range map[int]error{100: format.ErrSignature, 200: nil, 254: nil, 255: format.ErrSignature, 256: nil, 300: format.ErrSignature} {
		w, err := newWriter(&bytes.Buffer{}, &schema.Schema{}, &format.WriteOptions{Signer: fixedSigner{rsaSigner, n}})
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

// TestTrustedExternal: with a trusted key, external data is compared when the model is opened if its file is open by then, or if
// it is of a tensor inside the graph. Behind a reader, data of other tensors is compared when it is first used.
func TestTrustedExternal(t *testing.T) {
	testhost.NeedTimes(t)
	sum := checksumText([]byte("abcd"))
	named := container{tensor: externalRecord("w", "w.bin", 0, 4, sum)}
	inside := attr(by(5, decl("", 8, 4), by(5, st(1, "w.bin"), vi(3, 4), st(4, sum))))
	for _, tt := range []struct {
		name     string
		c        container
		data     string
		isReader bool
		open     error // of opening
		use      error // of the first use of the tensor w
	}{
		{"a file", named, "abcd", false, nil, nil},
		{"a damaged file", named, "abcx", false, format.ErrChecksum, nil},
		{"a file, inside the graph", inside, "abcd", false, nil, nil},
		{"a damaged file, inside the graph", inside, "abcx", false, format.ErrChecksum, nil},
		{"a reader", named, "abcd", true, nil, nil},
		{"a damaged reader", named, "abcx", true, nil, format.ErrChecksum},
		{"a reader, inside the graph", inside, "abcd", true, nil, nil},
		{"a damaged reader, inside the graph", inside, "abcx", true, format.ErrChecksum, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := signed(tt.c, ecKey, true)
			o := &format.Options{Trusted: format.TrustKey(ecKey.Public())}
			var f *File
			var err error
			if tt.isReader {
				f, err = openReaderAt(siblingReader{bytes.NewReader(b), tt.data}, int64(len(b)), o)
			} else {
				dir := t.TempDir()
				expect.OK(t, os.WriteFile(filepath.Join(dir, "w.bin"), []byte(tt.data), 0o644))
				o.Dir = dir
				f, err = openBytes(b, o)
			}
			if !errors.Is(err, tt.open) || tt.open == nil && err != nil {
				t.Fatalf("opening: %v, want %v", err, tt.open)
			}
			if err != nil {
				return
			}
			defer f.Close()
			v, err := f.Tensor("w")
			if errors.Is(err, format.ErrNotFound) {
				return // it is inside the graph
			}
			expect.OK(t, err)
			_, err = v.Bytes()
			if !errors.Is(err, tt.use) || tt.use == nil && err != nil {
				t.Errorf("first use: %v, want %v", err, tt.use)
			}
		})
	}
}

// siblingReader is a reader with the file w.bin next to it.
type siblingReader struct {
	io.ReaderAt
	data string
}

func (siblingReader) ReaderInfo() format.ReaderInfo { return format.ReaderInfo{Path: "model.wia"} }

func (r siblingReader) Sibling(string) (io.ReaderAt, int64, error) {
	return strings.NewReader(r.data), int64(len(r.data)), nil
}
