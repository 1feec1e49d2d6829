package mle

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

var testTime = time.Unix(1700000000, 0)

// Offsets in the signature section.
const (
	sigTime  = 4
	sigKey   = 12
	sigBytes = 44
	sigHash  = 108
)

// written returns the file of a schema with the data of formattest.Fill.
func written(t testing.TB, p *schema.Schema, o *format.WriteOptions) []byte {
	t.Helper()
	var data [][]byte
	for _, info := range p.Tensors {
		data = append(data, formattest.Fill(info))
	}
	return writtenWith(t, p, o, data...)
}

// writtenWith returns the file of a schema with the given data of its tensors.
func writtenWith(t testing.TB, p *schema.Schema, o *format.WriteOptions, data ...[]byte) []byte {
	t.Helper()
	own := format.WriteOptions{}
	if o != nil {
		own = *o
	}
	if own.Time.IsZero() {
		own.Time = testTime
	}
	own.Spool = format.SpoolMemory
	var out bytes.Buffer
	w, err := newWriter(&out, p, &own)
	expect.OK(t, err)
	for i, b := range data {
		expect.OK(t, w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

func saved(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.mle")
	expect.OK(t, os.WriteFile(path, b, 0o644))
	return path
}

func trusted(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func TestCheckSignature(t *testing.T) {
	other, _, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	ours := trusted(testSigner)
	good := written(t, mixedSchema(), &format.WriteOptions{Signer: testSigner, Compression: "zstd"})
	at := int(le.Uint64(good[64:]))
	flip := func(i int) []byte { b := bytes.Clone(good); b[i] ^= 4; return b }
	// Another signer may replace the whole section.
	foreign := bytes.Clone(good)
	_, forger, _ := ed25519.GenerateKey(nil)
	digest := sha256.Sum256(good[:at])
	copy(foreign[at+sigKey:], trusted(forger))
	copy(foreign[at+sigBytes:], ed25519.Sign(forger, digest[:]))
	// The key in the file may claim another signer.
	claimed := bytes.Clone(foreign)
	copy(claimed[at+sigKey:], ours)
	unsigned := written(t, mixedSchema(), nil)
	for _, tt := range []struct {
		name   string
		file   []byte
		key    crypto.PublicKey
		status format.SignatureState
	}{
		{"valid", good, ours, format.SignatureTrusted},
		{"no key given", good, nil, format.SignatureUnknown},
		{"another key trusted", good, other, format.SignatureUnknown},
		{"signed by another", foreign, ours, format.SignatureUnknown},
		{"signed by another, no key given", foreign, nil, format.SignatureUnknown},
		{"claims to be the trusted one", claimed, ours, format.SignatureBad},
		{"unsigned", unsigned, ours, format.Unsigned},
		{"unsigned, no key given", unsigned, nil, format.Unsigned},
		{"signature flipped, no key given", flip(at + sigBytes + 3), nil, format.SignatureBad},
		{"key flipped, no key given", flip(at + sigKey), nil, format.SignatureBad},
		{"hash flipped", flip(at + sigHash), nil, format.SignatureBad},
		{"padding flipped", flip(int(le.Uint64(good[80:])) + 21), nil, format.SignatureBad},
	} {
		if got, err := mustOpen(t, tt.file, nil).CheckSignature(context.Background(), tt.key); err != nil || got != tt.status {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.status)
		}
	}
	expect.Refused(t, format.ErrSignature, "claims to be the trusted one")(nil, verifySigner(mustOpen(t, claimed, nil), ours))
	f := mustOpen(t, good, nil)
	expect.Refused(t, format.ErrSignature, "a key of another kind")(nil, verifySigner(f, struct{ crypto.PublicKey }{}))
	expect.Refused(t, format.ErrKey, "a short key")(nil, verifySigner(f, ours[:31]))
}

// TestBadSignature is cases/seeds/badsig.mle: the hash is right, and one bit of the signature, or of the key, is not.
// Nobody gave a key. Opening and reading do not check the signature, Verify and CheckClaim do.
func TestBadSignature(t *testing.T) {
	good := written(t, mixedSchema(), &format.WriteOptions{Signer: testSigner})
	at := int(le.Uint64(good[gSig:]))
	check := func(b []byte) (verified, claimed error) {
		f := mustOpen(t, b, &format.Options{Check: format.CheckTouch})
		_, err := f.At(0).Bytes()
		expect.OK(t, err)
		return verify(f), f.CheckClaim()
	}
	verified, claimed := check(good)
	expect.OK(t, verified)
	expect.OK(t, claimed)
	for i := sigTime; i < signatureSize; i++ {
		b := bytes.Clone(good)
		b[at+i] ^= 1 << (i % 8)
		verified, claimed := check(b)
		switch {
		case i < sigKey: // the signature does not cover the timestamp
			expect.OK(t, verified)
			expect.OK(t, claimed)
			continue
		case !errors.Is(verified, format.ErrSignature) || !errors.Is(claimed, format.ErrSignature):
			t.Errorf("byte %d of the section: Verify: %v, CheckClaim: %v", i, verified, claimed)
		}
		if i < sigHash && !strings.Contains(verified.Error(), "the signature was not made by the key in the file") {
			t.Errorf("byte %d of the section: %v", i, verified)
		}
		_, err := openBytes(b, &format.Options{Check: format.CheckAll})
		expect.Refused(t, format.ErrSignature, "CheckAll")(nil, err)
	}
	unsigned := mustOpen(t, written(t, mixedSchema(), nil), nil)
	expect.OK(t, unsigned.CheckClaim())
	expect.OK(t, unsigned.Close())
	expect.Refused(t, format.ErrClosed, "a closed file")(nil, unsigned.CheckClaim())
}

// TestSignExisting checks that signing an existing file gives the same bytes as signing
// while writing, and changes nothing else.
func TestSignExisting(t *testing.T) {
	testhost.NeedReplace(t)
	for name, o := range map[string]format.WriteOptions{
		"compressed": {Compression: "lz4", Format: Format{Chunked: true}},
		"128":        {Compression: "brotli", Format: Format{HeaderSize: 128}},
	} {
		path := saved(t, written(t, mixedSchema(), &o))
		before, err := Open(path, nil)
		expect.OK(t, err)
		defer before.Close()
		o.Signer = testSigner
		want := written(t, mixedSchema(), &o)
		to := filepath.Join(t.TempDir(), "signed.mle")
		for _, s := range []struct{ to, file string }{{to, to}, {"", path}, {"", path}} { // the last replaces a signature
			expect.OK(t, Sign(path, testSigner, &SignOptions{To: s.to, Time: testTime}))
			got := expect.Read(t, s.file)
			if !bytes.Equal(want, got) {
				t.Errorf("%s: other bytes than signing while writing", name)
			}
		}
		if err := verify(before); err != nil || before.Signature() != nil {
			t.Errorf("%s: the old mapping is disturbed: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Dir(path) + "/.*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	bad := written(t, mixedSchema(), nil)
	bad[20] ^= 1
	tests := []struct {
		name string
		file []byte
		key  ed25519.PrivateKey
		opts *SignOptions
		want error
	}{
		{"version 1", written(t, mixedSchema(), &format.WriteOptions{Format: Format{Version: 1}}), testSigner, nil, format.ErrUnsupported},
		{"encrypted", written(t, mixedSchema(), &format.WriteOptions{Key: testKey}), testSigner, nil, format.ErrUnsupported},
		{"encrypted and signed", written(t, mixedSchema(), &format.WriteOptions{Key: testKey, Signer: testSigner}), testSigner, nil, nil},
		{"short key", written(t, mixedSchema(), nil), testSigner[:31], nil, format.ErrKey},
		{"broken file", bad, testSigner, nil, format.ErrChecksum},
		{"canceled", written(t, mixedSchema(), nil), testSigner, &SignOptions{Context: canceled}, context.Canceled},
	}
	for _, tt := range tests {
		path := saved(t, tt.file)
		expect.Refused(t, tt.want, tt.name)(nil, Sign(path, tt.key, tt.opts))
		got, _ := os.ReadFile(path)
		if left, _ := filepath.Glob(filepath.Dir(path) + "/.*"); len(left) > 0 || tt.want != nil && !bytes.Equal(got, tt.file) {
			t.Errorf("%s: the file changed, or something is left behind: %v", tt.name, left)
		}
	}
	expect.Refused(t, os.ErrNotExist, "absent")(nil, Sign(filepath.Join(t.TempDir(), "absent.mle"), testSigner, nil))
}

// TestEncryption checks that a tensor needs the key and, when the weights have changed and
// have a checksum, that it is not the key that is refused.
func TestEncryption(t *testing.T) {
	b := written(t, mixedSchema(), &format.WriteOptions{Key: testKey})
	changed := bytes.Clone(b)
	changed[int(le.Uint64(b[48:]))+30] ^= 1
	for _, tt := range []struct {
		file, key []byte
		want      error
	}{
		{b, nil, format.ErrKey}, {b, bytes.Repeat([]byte{7}, 32), format.ErrKey}, {changed, nil, format.ErrKey}, {changed, testKey, format.ErrChecksum},
	} {
		f := mustOpen(t, tt.file, &format.Options{Key: tt.key})
		if _, err := view(t, f, "bytes").Bytes(); !errors.Is(err, tt.want) || f.NeedsKey() != (tt.key == nil) {
			t.Errorf("key %x: %v, want %v", tt.key, err, tt.want)
		}
	}
	for _, key := range [][]byte{{}, testKey[:16]} {
		expect.Refused(t, format.ErrKey, "key of", len(key), "bytes")(openBytes(b, &format.Options{Key: key}))
	}
}

// TestSignatureByHand checks every byte of the section against the
// specification.
func TestSignatureByHand(t *testing.T) {
	b := written(t, mixedSchema(), &format.WriteOptions{Signer: testSigner})
	at := int(le.Uint64(b[64:]))
	expect.Equal(t, signatureOf(b[:at], testSigner), b[at:])
	f := mustOpen(t, b, nil)
	wantSig := &schema.Signature{Algorithm: "Ed25519", PublicKey: crypto.PublicKey(trusted(testSigner)), Timestamp: 1700000000}
	expect.Equal(t, wantSig, f.Signature())
}

// TestEncryptedHasCompressionSection checks that an encrypted file without compression has
// a compression section of type 0 with the checksum of the plain weights, so that readers
// without support for encryption refuse it.
func TestEncryptedHasCompressionSection(t *testing.T) {
	p := floatSchema()
	plainFile := written(t, p, nil)
	plain := plainFile[le.Uint64(plainFile[48:]):]
	b := written(t, p, &format.WriteOptions{Key: testKey})
	if got := le.Uint32(b[8:]); got != 3 {
		t.Errorf("flags %#x, want COMPRESSION and ENCRYPTION", got)
	}
	at, size := le.Uint64(b[80:]), le.Uint64(b[88:])
	expect.Equal(t, compHeader(0, 6, uint64(len(plain)), crc32.ChecksumIEEE(plain), 0), b[at:at+size])
	stored := b[le.Uint64(b[48:]):][:le.Uint64(b[56:])]
	opened, err := corpus.GCM(testKey).Open(nil, stored[:12], stored[12:], b[:16])
	if diff := cmp.Diff(plain, opened); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// The checksum is that of the decrypted weights.
	b[at+12] ^= 1
	expect.Refused(t, format.ErrChecksum, "another sum")(nil, verify(mustOpen(t, b, &format.Options{Key: testKey})))
}
