package keys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

func TestRoundTrip(t *testing.T) {
	_, ed, err1 := ed25519.GenerateKey(rand.Reader)
	r, err2 := rsa.GenerateKey(rand.Reader, 2048)
	ec, err3 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, errors.Join(err1, err2, err3))
	all := map[string]crypto.Signer{"Ed25519": ed, "RSA": r, "ECDSA": ec}
	for name, key := range all {
		t.Run(name, func(t *testing.T) {
			private, err := EncodePrivate(key)
			expect.OK(t, err)
			public, err := EncodePublic(key.Public())
			expect.OK(t, err)
			gotPrivate, err := ParsePrivate(private)
			expect.OK(t, err)
			gotPublic, err := ParsePublic(append([]byte("a comment\n"), public...))
			expect.OK(t, err)
			if !Equal(gotPublic, key.Public()) || !Equal(gotPrivate.Public(), key.Public()) {
				t.Error("the key changed")
			}
			for other := range all {
				if same := Equal(key.Public(), all[other].Public()); same != (other == name) {
					t.Errorf("Equal to the %s key: %v", other, same)
				}
			}
		})
	}
}

func TestBad(t *testing.T) {
	block := func(kind, body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(body)}))
	}
	for _, tt := range []struct {
		name, text, public, private string
	}{
		{"empty", "", `no PEM block "PUBLIC KEY"`, `no PEM block "PRIVATE KEY"`},
		{"other block", block("ENCRYPTED PRIVATE KEY", "x"), `only "ENCRYPTED PRIVATE KEY"`, `only "ENCRYPTED PRIVATE KEY"`},
		{"no key inside", block("PUBLIC KEY", "x") + block("PRIVATE KEY", "x"), "asn1", "asn1"},
		{"no EC key inside", block("EC PRIVATE KEY", "x"), `only "EC PRIVATE KEY"`, "asn1"},
		{"no RSA key inside", block("RSA PRIVATE KEY", "x"), `only "RSA PRIVATE KEY"`, "asn1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParsePublic([]byte(tt.text))
			if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), tt.public) {
				t.Errorf("ParsePublic: %v, want %q", err, tt.public)
			}
			_, err = ParsePrivate([]byte(tt.text))
			if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), tt.private) {
				t.Errorf("ParsePrivate: %v, want %q", err, tt.private)
			}
		})
	}
	if _, err := EncodePublic("no key"); !errors.Is(err, ErrKey) {
		t.Errorf("EncodePublic of a string: %v", err)
	}
	if _, err := Fingerprint("no key"); !errors.Is(err, ErrKey) {
		t.Errorf("Fingerprint of a string: %v", err)
	}
}

// TestTraditional reads the forms of private keys that are older than PKCS #8.
func TestTraditional(t *testing.T) {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	expect.OK(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	der, err := x509.MarshalECPrivateKey(ec)
	expect.OK(t, err)
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7}}) // prime256v1
	for name, tt := range map[string]struct {
		text []byte
		want crypto.Signer
	}{
		"openssl ecparam -genkey":      {append(parameters, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...), ec},
		"openssl genrsa -traditional":  {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(r)}), r},
		"openssl ecparam -genkey -out": {pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), ec},
	} {
		key, err := ParsePrivate(tt.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !Equal(key.Public(), tt.want.Public()) {
			t.Errorf("%s: another key", name)
		}
	}
}

// TestOpenSSL reads keys made by openssl and compares fingerprints with it.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(openssl, args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for name, args := range map[string][]string{
		"Ed25519":        {"genpkey", "-algorithm", "ed25519"},
		"RSA":            {"genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"},
		"ECDSA":          {"genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
		"ECDSA, SEC 1":   {"ecparam", "-name", "prime256v1", "-genkey"},
		"RSA, by genrsa": {"genrsa"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			private, public := filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
			run(append(args, "-out", private)...)
			run("pkey", "-in", private, "-pubout", "-out", public)
			key, err := ParsePrivate(expect.Read(t, private))
			expect.OK(t, err)
			pub, err := ParsePublic(expect.Read(t, public))
			expect.OK(t, err)
			if !Equal(key.Public(), pub) {
				t.Error("private and public are different keys")
			}
			ours, err := EncodePublic(pub)
			expect.OK(t, err)
			theirs, err := os.ReadFile(public)
			expect.OK(t, err)
			if diff := cmp.Diff(string(theirs), string(ours)); diff != "" {
				t.Errorf("PEM of the public key (-openssl +ours):\n%s", diff)
			}
		})
	}
}
