package signing

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

const (
	mediaType   = "application/vnd.dev.sigstore.bundle.v0.3+json"
	payloadType = "application/vnd.in-toto+json"
)

// maxBundle is the largest size of a bundle in bytes, enough for about 300,000 files.
const maxBundle = 64 << 20

// Method is the way a bundle identifies its signer.
type Method string

// The methods.
const (
	Key         Method = "key"         // a public key that the verifier has
	Certificate Method = "certificate" // a chain of certificates that ends at one of the verifier's roots
	Sigstore    Method = "sigstore"    // a short-lived certificate and an entry in a transparency log
)

// Bundle is a parsed signature. Parsing verifies nothing. A Bundle is immutable.
type Bundle struct {
	// Path is the file that the bundle was read from, or "". Verify does not count that file as
	// part of the model.
	Path string
	raw  []byte

	method     Method
	hint       string              // fingerprint of the key
	key        []byte              // the key itself, in older bundles
	chain      []*x509.Certificate // leaf first
	timestamps [][]byte            // RFC 3161 tokens
	payload    []byte
	sig        []byte
}

// Read reads the bundle at path.
func Read(path string) (*Bundle, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBundle+1))
	if err != nil {
		return nil, err
	}
	p, err := Parse(b)
	if err != nil {
		return nil, at(path, err)
	}
	p.Path = path
	return p, nil
}

// Parse parses a bundle. Errors wrap ErrCorrupt, ErrUnsupported or ErrLimit.
func Parse(b []byte) (*Bundle, error) {
	if len(b) > maxBundle {
		return nil, fail("", tensor.ErrLimit, "a signature of more than %d bytes", maxBundle)
	}
	o, err := parseObject(b, "")
	if err != nil {
		return nil, err
	}
	o.is("mediaType", mediaType)
	p := &Bundle{raw: bytes.Clone(b)}
	p.parseMaterial(o.object("verificationMaterial"))
	if o.has("messageSignature") {
		o.fail("messageSignature", driver.ErrUnsupported, "it signs no statement")
	}
	p.parseEnvelope(o.object("dsseEnvelope"))
	if *o.err != nil {
		return nil, *o.err
	}
	return p, nil
}

// parseMaterial parses the verification material, which identifies the signer.
func (p *Bundle) parseMaterial(m object) {
	n := 0
	for _, kind := range []struct {
		field  string
		method Method
	}{{"publicKey", Key}, {"x509CertificateChain", Certificate}, {"certificate", Sigstore}} {
		if m.has(kind.field) {
			p.method = kind.method
			n++
		}
	}
	if n != 1 {
		m.fail("", tensor.ErrCorrupt, "%d of publicKey, x509CertificateChain and certificate", n)
	}
	switch p.method {
	case Key:
		k := m.object("publicKey")
		if k.has("rawBytes") {
			p.key = k.bytes("rawBytes")
		} else {
			p.hint = get[string](k, "hint")
		}
	case Certificate:
		for _, o := range m.object("x509CertificateChain").someObjects("certificates", "there is none") {
			p.parseCertificate(o)
		}
	case Sigstore:
		p.parseCertificate(m.object("certificate"))
		m.someObjects("tlogEntries", "there is no entry of a transparency log")
	}
	if !m.has("timestampVerificationData") {
		return
	}
	t := m.object("timestampVerificationData")
	if t.has("rfc3161Timestamps") {
		for _, o := range t.objects("rfc3161Timestamps") {
			p.timestamps = append(p.timestamps, o.bytes("signedTimestamp"))
		}
	}
}

// parseCertificate adds a certificate to the chain.
func (p *Bundle) parseCertificate(o object) {
	c, err := x509.ParseCertificate(o.bytes("rawBytes"))
	if err != nil {
		o.fail("rawBytes", tensor.ErrCorrupt, "%w", err)
	}
	p.chain = append(p.chain, c)
}

func (p *Bundle) parseEnvelope(e object) {
	e.is("payloadType", payloadType)
	p.payload = e.bytes("payload")
	o := e.oneObject("signatures")
	if o.has("keyid") {
		get[string](o, "keyid")
	}
	p.sig = o.bytes("sig")
}

// Bytes returns a copy of the bundle's text.
func (p *Bundle) Bytes() []byte { return bytes.Clone(p.raw) }

// Method returns the way the bundle identifies its signer.
func (p *Bundle) Method() Method { return p.method }

// Signer returns the signer that the bundle claims: the subject of its certificate, or the
// fingerprint of the key as the bundle states it. Only Verify checks the claim.
func (p *Bundle) Signer() string {
	switch {
	case len(p.chain) > 0:
		return certificateName(p.chain[0])
	case p.hint != "":
		return p.hint
	}
	if k, err := parseRawKey(p.key); err == nil {
		return pemHint(k)
	}
	return "unknown"
}

// certificateName returns a URI of c, or else an e-mail address, or else the subject.
func certificateName(c *x509.Certificate) string {
	name := c.Subject.String()
	for _, alt := range c.EmailAddresses {
		name = alt
	}
	for _, alt := range c.URIs {
		name = alt.String()
	}
	return name
}

// pae returns the pre-authentication encoding of a payload.
func pae(payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// assemble returns the JSON of a bundle. signer is JSON; the other fields need no escapes.
func assemble(signer string, payload, sig []byte) []byte {
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `{"mediaType":"%s","verificationMaterial":{%s,"tlogEntries":[]},"dsseEnvelope":{"payload":"%s","payloadType":"%s","signatures":[{"sig":"%s","keyid":""}]}}`,
		mediaType, signer, text(payload), payloadType, text(sig))
}
