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
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/wire"
)

// Trust holds the trusted signers. Each method has its own fields: a key in Keys does not make a
// bundle of the method certificate valid.
type Trust struct {
	// Keys are the trusted public keys for the method key: *ecdsa.PublicKey of P-256, P-384 or
	// P-521.
	Keys []crypto.PublicKey
	// Roots are the trusted root certificates for the method certificate.
	Roots *x509.CertPool
	// Time, if not zero, replaces the current time, at which certificates must be valid.
	Time time.Time
	// Sigstore verifies bundles of the method sigstore, which this package cannot verify itself. It
	// returns the verified payload and the name of the signer. If nil, such bundles fail with
	// ErrUnsupported.
	Sigstore func(ctx context.Context, bundle []byte) (payload []byte, signer string, err error)
}

// ParseTrust parses PEM text with public keys ("PUBLIC KEY") or root certificates ("CERTIFICATE").
// If it has neither, or a public key of an unsupported type, the error is ErrKey.
func ParseTrust(text []byte) (*Trust, error) {
	t, roots := &Trust{}, x509.NewCertPool()
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		var err error
		switch b.Type {
		case "PUBLIC KEY":
			var k crypto.PublicKey
			if k, err = x509.ParsePKIXPublicKey(b.Bytes); err == nil {
				_, err = hashOf(k)
			}
			t.Keys = append(t.Keys, k)
		case "CERTIFICATE":
			var c *x509.Certificate
			if c, err = x509.ParseCertificate(b.Bytes); err == nil {
				roots.AddCert(c)
				t.Roots = roots
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", driver.ErrKey, err)
		}
	}
	if t.Keys == nil && t.Roots == nil {
		return nil, fmt.Errorf("%w: there is neither a public key nor a certificate in PEM form", driver.ErrKey)
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
	return t, wire.Explain(err, "", path)
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
	return 0, fmt.Errorf("%w: models are signed by ECDSA with P-256, P-384 or P-521, not by a key like this", driver.ErrKey)
}

// authenticate verifies the signature of the bundle and returns the name of the signer.
func (p *Bundle) authenticate(ctx context.Context, t *Trust) (string, error) {
	switch p.method {
	case Key:
		return p.checkKey(t)
	case Certificate:
		return p.checkChain(t)
	case Sigstore:
		return p.checkSigstore(ctx, t)
	}
	return "", fail("", driver.ErrSignature, "there is none")
}

// checkKey verifies a bundle of the method key and returns the fingerprint of the key.
func (p *Bundle) checkKey(t *Trust) (string, error) {
	for _, k := range t.Keys {
		if !p.names(k) {
			continue
		}
		if err := p.checkSignature(k); err != nil {
			return "", err
		}
		return keys.Fingerprint(k)
	}
	return "", fail("verificationMaterial.publicKey", driver.ErrSignature, "it is signed with another key, %s", p.Signer())
}

// names reports whether the bundle names key as its signing key.
func (p *Bundle) names(key crypto.PublicKey) bool {
	fingerprint, err := keys.Fingerprint(key)
	if err != nil || p.hint == "" {
		return false
	}
	sum, _ := hex.DecodeString(fingerprint)
	return slices.Contains([]string{pemHint(key), fingerprint, base64.StdEncoding.EncodeToString(sum)}, p.hint)
}

// pemHint returns the hint for a public key: the SHA-256 of its PEM text.
func pemHint(key crypto.PublicKey) string {
	text, _ := keys.EncodePublic(key) // fails for no key that signs or was parsed
	return hex.EncodeToString(hashed(crypto.SHA256, text))
}

// parseRawKey parses the public key of an older bundle, in PEM or DER form, and returns its hint.
func parseRawKey(b []byte) string {
	if block, _ := pem.Decode(b); block != nil {
		b = block.Bytes
	}
	k, err := x509.ParsePKIXPublicKey(b)
	if err != nil {
		return ""
	}
	return pemHint(k)
}

// checkSignature verifies the signature with key.
func (p *Bundle) checkSignature(key crypto.PublicKey) error {
	h, err := hashOf(key)
	if err != nil {
		return err
	}
	k := key.(*ecdsa.PublicKey)
	if ecdsa.VerifyASN1(k, hashed(h, pae(p.payload)), p.sig) {
		return nil
	}
	// Only statements of version 0.2 use the old encoding.
	if s, _ := parseStatement(p.payload); s != nil && s.old {
		old := oldPAE(p.payload)
		if ecdsa.VerifyASN1(k, hashed(crypto.SHA256, old), p.sig) || ecdsa.VerifyASN1(k, hashed(h, old), p.sig) {
			return nil
		}
	}
	return fail("dsseEnvelope.signatures", driver.ErrSignature, "the signature does not fit the statement and the key")
}

func hashed(h crypto.Hash, b []byte) []byte {
	w := h.New()
	w.Write(b)
	return w.Sum(nil)
}

// oldPAE returns the bytes that version 0.2 signs, with the payload as a Python bytes literal.
func oldPAE(payload []byte) []byte {
	b := fmt.Appendf(nil, "DSSEV1 %d %s %d b", len(payloadType), payloadType, len(payload))
	quote := byte('\'')
	if bytes.IndexByte(payload, '\'') >= 0 && bytes.IndexByte(payload, '"') < 0 {
		quote = '"'
	}
	b = append(b, quote)
	for _, c := range payload {
		space := strings.IndexByte("\t\n\r", c)
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case space >= 0:
			b = append(b, '\\', "tnr"[space])
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}

// checkChain verifies a bundle of the method certificate and returns the name in the certificate.
func (p *Bundle) checkChain(t *Trust) (string, error) {
	const field = "verificationMaterial.x509CertificateChain"
	if t.Roots == nil {
		return "", fail(field, driver.ErrSignature, "it is signed with a certificate, and no root certificate is trusted")
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
		return "", fail(field, driver.ErrSignature, "%w", err)
	}
	name := certificateName(leaf)
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 || len(leaf.ExtKeyUsage) == 0 {
		return "", fail(field, driver.ErrSignature, "the certificate of %s is not for signing code", strconv.Quote(name))
	}
	return name, p.checkSignature(leaf.PublicKey)
}

// checkSigstore verifies a bundle of the method sigstore by calling Trust.Sigstore.
func (p *Bundle) checkSigstore(ctx context.Context, t *Trust) (string, error) {
	const field = "verificationMaterial.certificate"
	if t.Sigstore == nil {
		return "", fail(field, driver.ErrUnsupported, "it is signed by way of Sigstore (as %s), which needs a verifier for that", p.Signer())
	}
	payload, name, err := t.Sigstore(ctx, p.Bytes())
	if err != nil {
		return "", fail(field, driver.ErrSignature, "%w", err)
	}
	if !bytes.Equal(payload, p.payload) {
		return "", fail("dsseEnvelope.payload", driver.ErrSignature, "the verifier of Sigstore read another statement")
	}
	return name, nil
}
