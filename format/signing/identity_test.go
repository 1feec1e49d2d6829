package signing

import (
	"context"
	"crypto"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestIdentities: with Trust.Identities, a bundle with a certificate must be by one of them, in all fields that are set.
func TestIdentities(t *testing.T) {
	root := (*authority)(nil).issue(t, "root", nil)
	signer := root.issue(t, "signer", func(c *x509.Certificate) {
		leaf(c)
		c.EmailAddresses = []string{"a@example.com", "b@example.com"}
		c.DNSNames = []string{"models.example.com"}
		c.URIs = []*url.URL{{Scheme: "https", Host: "example.com", Path: "/release"}}
		c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)}
	})
	sum := hex.EncodeToString(hashed(crypto.SHA256, signer.cert.Raw))
	f := forged(t, signer.key, twoFiles)
	f.material = chain(signer)
	bundle, dir := f.make(t), model(t, twoFiles)
	for _, tt := range []struct {
		name string
		list []Identity
		want error
	}{
		{"none", nil, nil},
		{"subject", []Identity{{Subject: "CN=signer"}}, nil},
		{"another subject", []Identity{{Subject: "CN=signe"}}, format.ErrSignature},
		{"the subject of the root", []Identity{{Subject: "CN=root"}}, format.ErrSignature},
		{"e-mail address", []Identity{{Name: "b@example.com"}}, nil},
		{"another address", []Identity{{Name: "c@example.com"}}, format.ErrSignature},
		{"DNS name", []Identity{{Name: "models.example.com"}}, nil},
		{"URI", []Identity{{Name: "https://example.com/release"}}, nil},
		{"a part of the URI", []Identity{{Name: "https://example.com"}}, format.ErrSignature},
		{"IP address", []Identity{{Name: "192.0.2.1"}}, nil},
		{"fingerprint", []Identity{{SHA256: sum}}, nil},
		{"fingerprint in capitals", []Identity{{SHA256: strings.ToUpper(sum)}}, nil},
		{"another fingerprint", []Identity{{SHA256: hexSum(nil)}}, format.ErrSignature},
		{"all fields", []Identity{{Subject: "CN=signer", Name: "a@example.com", SHA256: sum}}, nil},
		{"one field of three", []Identity{{Subject: "CN=signer", Name: "c@example.com", SHA256: sum}}, format.ErrSignature},
		{"the second", []Identity{{Subject: "CN=other"}, {Name: "a@example.com"}}, nil},
		{"no field", []Identity{{}}, format.ErrSignature},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust := &Trust{Roots: roots(root), Time: at2025, Identities: tt.list}
			unverified(t, tt.name, tt.want, bundle, dir, trust, nil)
		})
	}
	t.Run("a chain that is not trusted", func(t *testing.T) {
		trust := &Trust{Roots: roots((*authority)(nil).issue(t, "other", nil)), Time: at2025, Identities: []Identity{{Subject: "CN=signer"}}}
		unverified(t, "another root", format.ErrSignature, bundle, dir, trust, nil)
	})
	t.Run("a key", func(t *testing.T) {
		key := newKey(t, elliptic.P256())
		trust := trusting(key)
		trust.Identities = []Identity{{Subject: "CN=signer"}}
		unverified(t, "a trusted key has no identity", nil, forged(t, key, twoFiles).make(t), dir, trust, nil)
	})
}

// TestIdentityOfSigstore: identities limit who signed by way of Sigstore, too.
func TestIdentityOfSigstore(t *testing.T) {
	signer := (*authority)(nil).issue(t, "somebody", leaf)
	f := forged(t, signer.key, twoFiles)
	f.material = `{` + certificateOf(signer) + `, "tlogEntries": [{"logIndex": "1"}]}`
	bundle, dir := f.make(t), model(t, twoFiles)
	p, err := Parse(bundle)
	expect.OK(t, err)
	for subject, want := range map[string]error{"CN=somebody": nil, "CN=nobody": format.ErrSignature} {
		verifier := func(context.Context, []byte) ([]byte, string, error) { return p.payload, "somebody", nil }
		trust := &Trust{Sigstore: verifier, Identities: []Identity{{Subject: subject}}}
		unverified(t, subject, want, bundle, dir, trust, nil)
	}
}

// TestAccept: Trust.Accept sees what was verified before any file is compared, and its error is ErrSignature.
func TestAccept(t *testing.T) {
	root := (*authority)(nil).issue(t, "root", nil)
	signer := root.issue(t, "signer", leaf)
	dir := t.TempDir()
	path := write(t, "mag", filepath.Join(dir, "m.mag"), nil)
	b, err := Sign(context.Background(), dir, Signer{Key: signer.key, Chain: []*x509.Certificate{signer.cert}}, &Options{Bundle: filepath.Join(dir, "model.sig")})
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(filepath.Join(dir, "model.sig"), b.Bytes(), 0o666))

	errOld := errors.New("it is too old")
	notOlder := func(years int) func(*Report) error {
		return func(r *Report) error {
			if r.Certificate == nil || r.Certificate.NotBefore.AddDate(years, 0, 0).Before(at2025) {
				return errOld
			}
			return nil
		}
	}
	for _, tt := range []struct {
		name   string
		accept func(*Report) error
		want   error
	}{
		{"any", func(*Report) error { return nil }, nil},
		{"young enough", notOlder(6), nil},
		{"too old", notOlder(4), errOld},
		{"its files", func(r *Report) error {
			if len(r.Files) != 1 || r.Files[0].Name != "m.mag" || r.Files[0].SHA256 != hexSum(expect.Read(t, path)) || r.Method != Certificate || r.Signer != "CN=signer" {
				return errOld
			}
			return nil
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust := &Trust{Roots: roots(root), Time: at2025, Accept: tt.accept}
			for how, err := range map[string]error{
				"Policy": open(path, &Policy{Trust: trust}),
				"Verify": verifyError(b, dir, trust),
			} {
				if !errors.Is(err, tt.want) || tt.want != nil && !errors.Is(err, format.ErrSignature) {
					t.Errorf("%s: %v, want %v", how, err, tt.want)
				}
			}
		})
	}
	t.Run("not called for an invalid signature", func(t *testing.T) {
		trust := &Trust{Roots: roots(signer), Time: time.Now().AddDate(100, 0, 0), Accept: func(*Report) error {
			t.Error("Accept was called")
			return nil
		}}
		expect.Refused(t, format.ErrSignature)(nil, open(path, &Policy{Trust: trust}))
	})
	t.Run("called before a file is compared", func(t *testing.T) {
		flip(t, path, -1, 1)
		trust := &Trust{Roots: roots(root), Time: at2025, Accept: notOlder(4)}
		err := open(path, &Policy{Trust: trust})
		if !errors.Is(err, errOld) || errors.Is(err, format.ErrChecksum) {
			t.Error(err)
		}
		flip(t, path, -1, 1)
	})
}

// verifyError returns the error of Verify.
func verifyError(b *Bundle, dir string, trust *Trust) error {
	_, err := Verify(context.Background(), b, dir, trust, nil)
	return err
}
