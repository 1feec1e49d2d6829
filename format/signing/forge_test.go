package signing

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
)

// forge makes bundles from the specification, without the package's writer. Its strings are JSON
// that goes into the bundle unchanged.
type forge struct {
	mediaType   string
	material    string
	payloadType string
	payload     string // the statement
	signatures  string // %s is the Base64 of the signature
	more        string // additional fields of the bundle
	hash        func([]byte) []byte
	encoding    func(payloadType, payload string) string
	key         *ecdsa.PrivateKey
	resources   map[string]string // name to digest
	statement   string            // %s are the root digest and the resources
	serialized  string
}

// pem of a public key, as openssl writes it.
func pemOf(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	expect.OK(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func newKey(t testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	expect.OK(t, err)
	return key
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// forged returns a forge for a model, with a key.
func forged(t testing.TB, key *ecdsa.PrivateKey, files map[string]string) *forge {
	f := &forge{
		mediaType:   `"application/vnd.dev.sigstore.bundle.v0.3+json"`,
		material:    `{"publicKey": {"hint": "` + hexSum(pemOf(t, key)) + `"}, "tlogEntries": []}`,
		payloadType: "application/vnd.in-toto+json",
		signatures:  `[{"sig": "%s", "keyid": ""}]`,
		key:         key,
		resources:   map[string]string{},
		statement: `{"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "model", "digest": {"sha256": "%s"}}],
 "predicateType": "https://model_signing/signature/v1.0", "predicate": {"resources": [%s], "serialization": %s}}`,
		serialized: `{"method": "files", "hash_type": "sha256", "allow_symlinks": false, "ignore_paths": [".git", "cache", "model.sig"]}`,
		encoding: func(payloadType, payload string) string {
			return fmt.Sprintf("DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
		},
	}
	switch key.Curve {
	case elliptic.P256():
		f.hash = func(b []byte) []byte { s := sha256.Sum256(b); return s[:] }
	case elliptic.P384():
		f.hash = func(b []byte) []byte { s := sha512.Sum384(b); return s[:] }
	default:
		f.hash = func(b []byte) []byte { s := sha512.Sum512(b); return s[:] }
	}
	for name, text := range files {
		f.resources[name] = hexSum([]byte(text))
	}
	return f
}

// list returns the resources and the root digest.
func (f *forge) list() (resources, root string) {
	var parts []string
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f.resources)) {
		b, _ := hex.DecodeString(f.resources[name])
		all.Write(b)
		parts = append(parts, fmt.Sprintf(`{"name": %q, "digest": %q, "algorithm": "sha256", "size": 3}`, name, f.resources[name]))
	}
	return strings.Join(parts, ", "), hex.EncodeToString(all.Sum(nil))
}

// make returns the bundle.
func (f *forge) make(t testing.TB) []byte {
	t.Helper()
	payload := f.payload
	if payload == "" {
		resources, root := f.list()
		payload = fmt.Sprintf(f.statement, root, resources, f.serialized)
	}
	sig, err := ecdsa.SignASN1(rand.Reader, f.key, f.hash([]byte(f.encoding(f.payloadType, payload))))
	expect.OK(t, err)
	signatures := f.signatures
	if strings.Contains(signatures, "%s") {
		signatures = fmt.Sprintf(signatures, base64.StdEncoding.EncodeToString(sig))
	}
	return []byte(fmt.Sprintf(`{"mediaType": %s, "verificationMaterial": %s, "dsseEnvelope": {"payload": "%s", "payloadType": "%s", "signatures": %s}%s}`,
		f.mediaType, f.material, base64.StdEncoding.EncodeToString([]byte(payload)), f.payloadType, signatures, f.more))
}

// model writes files into a new directory.
func model(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	for name, text := range files {
		put(t, dir, name, text)
	}
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	expect.OK(t, os.WriteFile(path, []byte(text), 0o666))
}

// verify parses and verifies a bundle.
func verify(bundle []byte, root string, trust *Trust, o *Options) (*Report, error) {
	b, err := Parse(bundle)
	if err != nil {
		return nil, err
	}
	return Verify(context.Background(), b, root, trust, o)
}

// unverified checks the error of verifying a bundle; nil wants success.
func unverified(t testing.TB, what string, want error, bundle []byte, root string, trust *Trust, o *Options) {
	t.Helper()
	expect.Refused(t, want, what)(verify(bundle, root, trust, o))
}

func trusting(keys ...*ecdsa.PrivateKey) *Trust {
	t := &Trust{}
	for _, k := range keys {
		t.Keys = append(t.Keys, crypto.PublicKey(&k.PublicKey))
	}
	return t
}

// authority issues certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// issue makes a certificate, self-signed if a is nil. change may modify the template.
func (a *authority) issue(t testing.TB, name string, change func(*x509.Certificate)) *authority {
	t.Helper()
	key := newKey(t, elliptic.P256())
	c := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(name))), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	if change != nil {
		change(c)
	}
	parent, by := c, key
	if a != nil {
		parent, by = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	expect.OK(t, err)
	cert, err := x509.ParseCertificate(der)
	expect.OK(t, err)
	return &authority{key, cert}
}

// leaf makes a template one for code signing.
func leaf(c *x509.Certificate) {
	c.IsCA, c.KeyUsage, c.ExtKeyUsage = false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
}

// chain returns verification material.
func chain(of ...*authority) string {
	var list []string
	for _, a := range of {
		list = append(list, fmt.Sprintf(`{"rawBytes": "%s"}`, base64.StdEncoding.EncodeToString(a.cert.Raw)))
	}
	return `{"x509CertificateChain": {"certificates": [` + strings.Join(list, ",") + `]}}`
}
