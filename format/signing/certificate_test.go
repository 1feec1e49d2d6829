package signing

import (
	"context"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
)

func roots(of ...*authority) *x509.CertPool {
	p := x509.NewCertPool()
	for _, a := range of {
		p.AddCert(a.cert)
	}
	return p
}

// at2025 is a time at which the certificates of the tests are valid.
var at2025 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// TestCertificates verifies valid chains and refuses invalid ones.
func TestCertificates(t *testing.T) {
	root, other := (*authority)(nil).issue(t, "root", nil), (*authority)(nil).issue(t, "other", nil)
	between := root.issue(t, "between", nil)
	expired := func(c *x509.Certificate) { c.NotAfter = c.NotBefore.AddDate(1, 0, 0) }
	with := func(change func(*x509.Certificate)) func(*x509.Certificate) {
		return func(c *x509.Certificate) { leaf(c); change(c) }
	}
	good := between.issue(t, "signer", leaf)
	unfit := func(change func(*x509.Certificate)) []*authority {
		return []*authority{between.issue(t, "signer", with(change)), between}
	}
	self := (*authority)(nil).issue(t, "self", leaf)
	noCA := root.issue(t, "no authority", leaf)
	for _, test := range []struct {
		name  string
		chain []*authority
		roots *x509.CertPool
		want  error
	}{
		{"good", []*authority{good, between}, roots(root), nil},
		{"signed by itself", []*authority{self}, roots(self), nil},
		{"another root", []*authority{good, between}, roots(other), format.ErrSignature},
		{"none between", []*authority{good}, roots(root), format.ErrSignature},
		{"not the leaf first", []*authority{between, good}, roots(root), format.ErrSignature},
		{"by who is no authority", []*authority{noCA.issue(t, "x", leaf), noCA}, roots(root), format.ErrSignature},
		{"expired", unfit(expired), roots(root), format.ErrSignature},
		{"for nothing", unfit(func(c *x509.Certificate) { c.ExtKeyUsage = nil }), roots(root), format.ErrSignature},
		{"not for signatures", unfit(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }), roots(root), format.ErrSignature},
		{"any use of the key", unfit(func(c *x509.Certificate) { c.KeyUsage = 0 }), roots(root), nil},
		{"no roots", []*authority{good, between}, nil, format.ErrSignature},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := forged(t, test.chain[0].key, twoFiles)
			f.material = chain(test.chain...)
			trust := &Trust{Roots: test.roots, Time: at2025}
			r, err := verify(f.make(t), model(t, twoFiles), trust, nil)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if err == nil && r.Signer != "CN="+test.chain[0].cert.Subject.CommonName {
				t.Error(r.Signer)
			}
			// A trusted key does not replace the missing root.
			trust.Roots, trust.Keys = nil, trusting(test.chain[0].key).Keys
			unverified(t, "by key", format.ErrSignature, f.make(t), model(t, twoFiles), trust, nil)
		})
	}
	t.Run("another key", func(t *testing.T) {
		f := forged(t, newKey(t, elliptic.P256()), twoFiles)
		f.material = chain(good, between)
		unverified(t, "another certificate", format.ErrSignature, f.make(t), model(t, twoFiles), &Trust{Roots: roots(root), Time: at2025}, nil)
	})
	t.Run("signed by us", func(t *testing.T) {
		dir := model(t, twoFiles)
		b, err := Sign(context.Background(), dir, Signer{Key: good.key, Chain: []*x509.Certificate{good.cert, between.cert}}, nil)
		expect.OK(t, err)
		if b.Method() != Certificate || b.Signer() != "CN=signer" {
			t.Error(b.Method(), b.Signer())
		}
		if _, err := Verify(context.Background(), b, dir, &Trust{Roots: roots(root), Time: at2025}, nil); err != nil {
			t.Error(err)
		}
		expect.Refused(t, format.ErrKey, "another certificate")(Sign(context.Background(), dir, Signer{Key: good.key, Chain: []*x509.Certificate{between.cert}}, nil))
	})
}

// certificateOf returns the field of verification material with the certificate of a.
func certificateOf(a *authority) string {
	return `"certificate": {"rawBytes": "` + base64.StdEncoding.EncodeToString(a.cert.Raw) + `"}`
}

// TestSigstore checks that bundles of the method sigstore need Trust.Sigstore, and that it must
// return the same payload.
func TestSigstore(t *testing.T) {
	signer := (*authority)(nil).issue(t, "somebody", leaf)
	f := forged(t, signer.key, twoFiles)
	cert := certificateOf(signer)
	f.material = `{` + cert + `, "tlogEntries": [{"logIndex": "1"}]}`
	bundle, dir := f.make(t), model(t, twoFiles)
	unverified(t, "no Trust.Sigstore", format.ErrUnsupported, bundle, dir, &Trust{Roots: roots(signer), Keys: trusting(signer.key).Keys}, nil)
	answer := func(payload []byte, err error) *Trust {
		return &Trust{Sigstore: func(_ context.Context, b []byte) ([]byte, string, error) {
			if string(b) != string(bundle) {
				t.Errorf("it was given %q", b)
			}
			return payload, "somebody@example.com", err
		}}
	}
	p, err := Parse(bundle)
	expect.OK(t, err)
	r, err := verify(bundle, dir, answer(p.payload, nil), nil)
	expect.OK(t, err)
	if r.Method != Sigstore || r.Signer != "somebody@example.com" {
		t.Errorf("%+v", r)
	}
	unverified(t, "another payload", format.ErrSignature, bundle, dir, answer(nil, nil), nil)
	unverified(t, "refused", format.ErrSignature, bundle, dir, answer(p.payload, errors.New("not logged")), nil)
	for _, material := range []string{`{` + cert + `}`, `{` + cert + `, "tlogEntries": []}`, `{` + cert + `, "tlogEntries": {}}`, `{` + cert + `, "tlogEntries": [1]}`} {
		f.material = material
		expect.Refused(t, format.ErrCorrupt, material)(Parse(f.make(t)))
	}
}

// TestParseTrust parses PEM files with trusted signers.
func TestParseTrust(t *testing.T) {
	key := newKey(t, elliptic.P521())
	root := (*authority)(nil).issue(t, "root", nil)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.cert.Raw})
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	trust, err := ParseTrust(append(append([]byte("text\n"), pemOf(t, key)...), cert...))
	expect.OK(t, err)
	if len(trust.Keys) != 1 || trust.Roots == nil || !trust.Roots.Equal(roots(root)) {
		t.Errorf("%+v", trust)
	}
	private, err := keys.EncodePrivate(key)
	expect.OK(t, err)
	for name, text := range map[string][]byte{
		"nothing": nil, "a private key": private, "no key": block("PUBLIC KEY", []byte{1}), "no certificate": block("CERTIFICATE", []byte{1}),
		"Ed25519": []byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n"),
	} {
		expect.Refused(t, format.ErrKey, name)(ParseTrust(text))
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	expect.OK(t, os.WriteFile(path, nil, 0o666))
	if _, err := ReadTrust(path); !errors.Is(err, format.ErrKey) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Error(err)
	}
}
