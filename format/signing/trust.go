package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Trust holds the trusted signers. Each method has its own fields: a key in Keys does not make a
// bundle of the method certificate valid.
type Trust struct {
	// Keys are the trusted public keys for the method key: *ecdsa.PublicKey of P-256, P-384 or
	// P-521. Another key is ErrKey.
	Keys []crypto.PublicKey
	// Roots are the trusted root certificates for the method certificate.
	Roots *x509.CertPool
	// Identities, if not empty, are the trusted signers among those with a certificate, also of the
	// method sigstore. A certificate must have one of them.
	Identities []Identity
	// Time, if not zero, replaces the current time, at which certificates must be valid.
	Time time.Time
	// Sigstore verifies bundles of the method sigstore, which this package cannot verify itself. It
	// returns the verified payload and the name of the signer. If nil, such bundles fail with
	// ErrUnsupported.
	Sigstore func(ctx context.Context, bundle []byte) (payload []byte, signer string, err error)
	// Accept, if not nil, is called with what was verified, before any file is compared. If it
	// returns an error, the signature is refused. It can look at the signer, the files, and how old
	// the certificate is.
	Accept func(*Report) error
}

// Identity is a signer, by the certificate. All fields that are not empty must match.
type Identity struct {
	// Subject is the distinguished name, as Certificate.Subject.String() prints it:
	// "CN=release,O=Example".
	Subject string
	// Name is an alternative name: an e-mail address, a URI, a DNS name or an IP address.
	Name string
	// SHA256 is the fingerprint of the certificate: the SHA-256 of its DER form, in hex.
	SHA256 string
}

// matches reports whether a certificate is that of the signer.
func (i *Identity) matches(c *x509.Certificate) bool {
	if *i == (Identity{}) {
		return false
	}
	sum := hex.EncodeToString(hashed(crypto.SHA256, c.Raw))
	return (i.Subject == "" || i.Subject == c.Subject.String()) &&
		(i.Name == "" || slices.Contains(alternativeNames(c), i.Name)) &&
		(i.SHA256 == "" || strings.EqualFold(i.SHA256, sum))
}

// alternativeNames lists the alternative names of a certificate.
func alternativeNames(c *x509.Certificate) []string {
	names := slices.Concat(c.EmailAddresses, c.DNSNames)
	for _, uri := range c.URIs {
		names = append(names, uri.String())
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// checkIdentity returns an error unless the signer of a bundle with a verified certificate is
// trusted.
func (p *Bundle) checkIdentity(t *Trust) error {
	isThis := func(i Identity) bool { return i.matches(p.chain[0]) }
	if len(p.chain) == 0 || len(t.Identities) == 0 || slices.ContainsFunc(t.Identities, isThis) {
		return nil
	}
	return fail("verificationMaterial", tensor.ErrSignature, "it is signed by %s, who is none of the trusted identities", strconv.Quote(p.Signer()))
}

// ParseTrust parses PEM text with public keys ("PUBLIC KEY") or root certificates ("CERTIFICATE").
// If it has neither, or a public key of an unsupported type, the error is ErrKey.
func ParseTrust(text []byte) (*Trust, error) {
	t := &Trust{}
	roots := x509.NewCertPool()
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		var err error
		switch b.Type {
		case "PUBLIC KEY":
			k, _ := x509.ParsePKIXPublicKey(b.Bytes) // hashOf refuses nil
			_, err = hashOf(k)
			t.Keys = append(t.Keys, k)
		case "CERTIFICATE":
			var c *x509.Certificate
			if c, err = x509.ParseCertificate(b.Bytes); err == nil {
				roots.AddCert(c)
				t.Roots = roots
			}
		}
		if errors.Is(err, tensor.ErrKey) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", tensor.ErrKey, err)
		}
	}
	if t.Keys == nil && t.Roots == nil {
		return nil, fmt.Errorf("%w: there is neither a public key nor a certificate in PEM form", tensor.ErrKey)
	}
	return t, nil
}

// ReadTrust reads the file at path and parses it with ParseTrust.
func ReadTrust(path string) (*Trust, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := ParseTrust(text)
	return t, wire.Place(err, "", path, "")
}

// hashOf returns the hash that goes with a public key.
func hashOf(key crypto.PublicKey) (crypto.Hash, error) {
	if k, ok := key.(*ecdsa.PublicKey); ok && k != nil {
		switch k.Curve {
		case elliptic.P256():
			return crypto.SHA256, nil
		case elliptic.P384():
			return crypto.SHA384, nil
		case elliptic.P521():
			return crypto.SHA512, nil
		}
	}
	return 0, fmt.Errorf("%w: signing a model needs an ECDSA key on P-256, P-384 or P-521", tensor.ErrKey)
}

// authenticate verifies the signature of the bundle and returns the name of the signer.
func (p *Bundle) authenticate(ctx context.Context, t *Trust) (who string, err error) {
	switch p.method {
	case Certificate:
		who, err = p.checkChain(t)
	case Sigstore:
		who, err = p.checkSigstore(ctx, t)
	default:
		who, err = p.checkKey(t)
	}
	if err != nil {
		return "", err
	}
	return who, p.checkIdentity(t)
}

// checkKey verifies a bundle of the method key and returns the fingerprint of the key. No key is
// that of a zero Bundle.
func (p *Bundle) checkKey(t *Trust) (string, error) {
	for i, key := range t.Keys {
		_, err := hashOf(key)
		if err != nil {
			return "", fail(fmt.Sprintf("Trust.Keys[%d]", i), tensor.ErrKey, "%w", err)
		}
	}
	i := slices.IndexFunc(t.Keys, p.names)
	if i < 0 {
		return "", fail("verificationMaterial.publicKey", tensor.ErrSignature, "it is signed with another key, %s", p.Signer())
	}
	fingerprint, _ := keys.Fingerprint(t.Keys[i]) // as names did
	return fingerprint, p.checkSignature(t.Keys[i])
}

// names reports whether the bundle names key as its signing key.
func (p *Bundle) names(key crypto.PublicKey) bool {
	fingerprint, err := keys.Fingerprint(key)
	sum, _ := hex.DecodeString(fingerprint)
	hints := []string{pemHint(key), fingerprint, base64.StdEncoding.EncodeToString(sum)}
	return err == nil && p.hint != "" && slices.Contains(hints, p.hint)
}

// pemHint returns the hint for a public key: the SHA-256 of its PEM text.
func pemHint(key crypto.PublicKey) string {
	text, _ := keys.EncodePublic(key) // fails for no key that signs or was parsed
	return hex.EncodeToString(hashed(crypto.SHA256, text))
}

// checkSignature verifies the signature with key.
func (p *Bundle) checkSignature(key crypto.PublicKey) error {
	h, err := hashOf(key)
	if err != nil {
		return err
	}
	fits := func(h crypto.Hash, signed []byte) bool {
		return ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), hashed(h, signed), p.sig)
	}
	if fits(h, pae(p.payload)) {
		return nil
	}
	// Only statements of version 0.2 use the old encoding.
	if s, _ := parseStatement(p.payload); s.old {
		if old := oldPAE(p.payload); fits(crypto.SHA256, old) || fits(h, old) {
			return nil
		}
	}
	return fail("dsseEnvelope.signatures", tensor.ErrSignature, "the signature does not fit the statement and the key")
}

func hashed(h crypto.Hash, b []byte) []byte {
	w := h.New()
	w.Write(b)
	return w.Sum(nil)
}

// python escapes JSON text, which has no other control characters, as in a bytes literal.
var python = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// oldPAE returns the bytes that version 0.2 signs, with the payload as a Python bytes literal.
func oldPAE(payload []byte) []byte {
	b := fmt.Appendf(nil, "DSSEV1 %d %s %d b'", len(payloadType), payloadType, len(payload))
	for _, c := range []byte(python.Replace(string(payload))) {
		if c > '~' {
			b = fmt.Appendf(b, `\x%02x`, c)
		} else {
			b = append(b, c)
		}
	}
	return append(b, '\'')
}

// checkChain verifies a bundle of the method certificate and returns the name in the certificate.
func (p *Bundle) checkChain(t *Trust) (string, error) {
	const field = "verificationMaterial.x509CertificateChain"
	if t.Roots == nil {
		return "", fail(field, tensor.ErrSignature, "it is signed with a certificate, and no root certificate is trusted")
	}
	between := x509.NewCertPool()
	for _, c := range p.chain[1:] {
		between.AddCert(c)
	}
	leaf := p.chain[0]
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: t.Roots, Intermediates: between, CurrentTime: t.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	if err != nil {
		return "", fail(field, tensor.ErrSignature, "%w", err)
	}
	name := certificateName(leaf)
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 || len(leaf.ExtKeyUsage) == 0 {
		return "", fail(field, tensor.ErrSignature, "the certificate of %s is not for signing code", strconv.Quote(name))
	}
	return name, p.checkSignature(leaf.PublicKey)
}

// checkSigstore verifies a bundle of the method sigstore by calling Trust.Sigstore.
func (p *Bundle) checkSigstore(ctx context.Context, t *Trust) (string, error) {
	const field = "verificationMaterial.certificate"
	if t.Sigstore == nil {
		return "", fail(field, tensor.ErrUnsupported, "it is signed by way of Sigstore (as %s), which needs a verifier for that", p.Signer())
	}
	payload, name, err := t.Sigstore(ctx, p.Bytes())
	if err != nil {
		return "", fail(field, tensor.ErrSignature, "%w", err)
	}
	if !bytes.Equal(payload, p.payload) {
		return "", fail("dsseEnvelope.payload", tensor.ErrSignature, "the verifier of Sigstore read another statement")
	}
	return name, nil
}
