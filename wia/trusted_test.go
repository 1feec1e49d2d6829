package wia

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestTrusted: a signature that is demanded when opening.
func TestTrusted(t *testing.T) {
	signer, other := ecdsaKey(t), rsaKey(t)
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
		{"encrypted", writeSample(t, tinyPlan(), &WriteOptions{Signer: other, Key: testKey}), format.Options{Trusted: other.Public(), Key: testKey}, nil},
		{"compressed", writeSample(t, samplePlan(t), &WriteOptions{Signer: signer, Compression: Zstd, CompressTensor: alternate}), format.Options{Trusted: mine, Check: format.CheckAll}, nil},
		{"by another", signed, format.Options{Trusted: other.Public()}, format.ErrSignature},
		{"unsigned", writeSample(t, samplePlan(t), &WriteOptions{}), format.Options{Trusted: mine}, format.ErrSignature},
		{"without a signature block", small().bytes(), format.Options{Trusted: mine}, format.ErrSignature},
		{"data changed", changed, format.Options{Trusted: mine}, format.ErrChecksum},
		{"a nil RSA key", signed, format.Options{Trusted: (*rsa.PublicKey)(nil)}, format.ErrKey},
		{"a nil ECDSA key", signed, format.Options{Trusted: (*ecdsa.PublicKey)(nil)}, format.ErrKey},
		{"an empty RSA key", signed, format.Options{Trusted: &rsa.PublicKey{}}, format.ErrKey},
		{"an ECDSA key without a point", signed, format.Options{Trusted: &ecdsa.PublicKey{Curve: elliptic.P256()}}, format.ErrKey},
		{"an empty Ed25519 key", signed, format.Options{Trusted: ed25519.PublicKey(nil)}, format.ErrKey},
		{"a private key", signed, format.Options{Trusted: signer}, format.ErrKey},
		{"an ECDSA key by value", signed, format.Options{Trusted: signer.PublicKey}, format.ErrKey},
		{"text", signed, format.Options{Trusted: "key"}, format.ErrKey},
		{"a key of another kind", signed, format.Options{Trusted: make(ed25519.PublicKey, ed25519.PublicKeySize)}, format.ErrSignature},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.wia")
			if err := os.WriteFile(path, tt.b, 0o666); err != nil {
				t.Fatal(err)
			}
			for how, open := range map[string]func() (*File, error){
				"bytes":  func() (*File, error) { return OpenBytes(tt.b, &tt.o) },
				"file":   func() (*File, error) { return Open(path, &tt.o) },
				"reader": func() (*File, error) { return OpenReaderAt(bytes.NewReader(tt.b), int64(len(tt.b)), &tt.o) },
			} {
				f, err := open()
				if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if err == nil {
					for name, v := range f.Tensors() {
						if _, err := v.Bytes(); err != nil {
							t.Errorf("%s: %q: %v", how, name, err)
						}
					}
					f.Close()
				}
			}
		})
	}
}

// TestTrustedExternalOpened: external data that the signature does not cover keeps a file from
// being opened when one is demanded.
func TestTrustedExternalOpened(t *testing.T) {
	testhost.NeedTimes(t)
	signer := ecdsaKey(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.wia")
	p := tinyPlan()
	w, err := Create(path, p, &WriteOptions{Signer: signer, ExternalFrom: 1})
	if err != nil {
		t.Fatal(err)
	}
	feed(t, w, p)
	o := &format.Options{Trusted: signer.Public()}
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The same without checksums.
	for i := range f.f.digests {
		f.f.digests[i].set = false
	}
	err = wiaCodec.Examine(t.Context(), f.m, func(v driver.Verification) error { return f.f.canVerify(demanding{v, signer.Public()}) })
	if !errors.Is(err, format.ErrSignature) {
		t.Errorf("without a checksum: %v", err)
	}
}

// demanding is a verification with a trusted key.
type demanding struct {
	driver.Verification
	key crypto.PublicKey
}

func (d demanding) Trusted() crypto.PublicKey { return d.key }

// forgery is a reader that shows each byte of one file first, and another's ever after.
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

// TestSignedIsWhatWasParsed: a file that shows the parser another name of a tensor than
// who hashes it is not what was signed.
func TestSignedIsWhatWasParsed(t *testing.T) {
	signer := ecdsaKey(t)
	p := tinyPlan()
	p.Graph = nil
	signed := writeSample(t, p, &WriteOptions{Signer: signer})
	f := mustOpen(t, signed, nil)
	block := f.f.hdr.blocks[tensorBlock]
	forged := bytes.Clone(signed)
	at := bytes.Index(forged[block.off:], []byte(p.Tensors[0].Name))
	if at < 0 {
		t.Fatal("the name is not in the tensor block")
	}
	forged[block.off+int64(at)] ^= 1
	o := &format.Options{Trusted: signer.Public()}
	for name, first := range map[string][]byte{"signed": signed, "forged": forged} {
		f, err := OpenReaderAt(&forgery{first, signed, make([]bool, len(signed))}, int64(len(signed)), o)
		if (err == nil) != (name == "signed") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			f.Close()
		}
	}
}

// TestUnusableSigners: typed nils do not sign.
func TestUnusableSigners(t *testing.T) {
	for _, signer := range []crypto.Signer{
		(*rsa.PrivateKey)(nil), (*ecdsa.PrivateKey)(nil), &rsa.PrivateKey{}, &ecdsa.PrivateKey{}, ed25519.PrivateKey(nil), ed25519.PrivateKey{1},
		nilSigner{},
	} {
		if _, err := NewWriter(&bytes.Buffer{}, tinyPlan(), &WriteOptions{Signer: signer}); !errors.Is(err, format.ErrKey) {
			t.Errorf("%T: %v", signer, err)
		}
	}
	f := mustOpen(t, writeSample(t, tinyPlan(), &WriteOptions{Signer: ecdsaKey(t)}), nil)
	for _, key := range []crypto.PublicKey{(*rsa.PublicKey)(nil), (*ecdsa.PublicKey)(nil), &rsa.PublicKey{}, &ecdsa.PublicKey{}} {
		if err := verify(f, format.WithTrustedKey(key)); !errors.Is(err, format.ErrKey) {
			t.Errorf("Verify with a %T: %v", key, err)
		}
	}
}

// nilSigner is a signer of another module with no key.
type nilSigner struct{ crypto.Signer }

func (nilSigner) Public() crypto.PublicKey { return (*ecdsa.PublicKey)(nil) }
