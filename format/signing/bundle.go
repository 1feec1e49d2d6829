package signing

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
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

	method  Method
	hint    string              // fingerprint of the key
	chain   []*x509.Certificate // leaf first
	payload []byte
	sig     []byte
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
	return parseAt(b, path)
}

// parseAt is Parse for a bundle that was read from a path.
func parseAt(b []byte, path string) (*Bundle, error) {
	p, err := Parse(b)
	if err != nil {
		return nil, wire.Place(err, "", path, "")
	}
	p.Path = path
	return p, nil
}

// Parse parses a bundle. Errors wrap ErrCorrupt, ErrUnsupported or ErrLimit.
func Parse(b []byte) (*Bundle, error) {
	if len(b) > maxBundle {
		return nil, fail("", tensor.ErrLimit, "a signature of more than %d bytes", maxBundle)
	}
	o := parseObject(b, "")
	o.is("mediaType", mediaType)
	p := &Bundle{raw: bytes.Clone(b)}
	p.parseMaterial(o)
	if o.has("messageSignature") {
		o.fail("messageSignature", tensor.ErrUnsupported, "it signs no statement")
	}
	e := o.object("dsseEnvelope")
	e.is("payloadType", payloadType)
	p.payload = e.bytes("payload")
	signature := e.only("signatures")
	if signature.has("keyid") {
		get[string](signature, "keyid")
	}
	p.sig = signature.bytes("sig")
	if *o.err != nil {
		return nil, *o.err
	}
	return p, nil
}

// parseMaterial parses the verification material, which identifies the signer.
func (p *Bundle) parseMaterial(o object) {
	m := o.object("verificationMaterial")
	kinds := []string{"publicKey", "x509CertificateChain", "certificate"}
	kinds = slices.DeleteFunc(kinds, func(key string) bool { return !m.has(key) })
	if len(kinds) != 1 {
		o.fail("verificationMaterial", tensor.ErrCorrupt, "%d of publicKey, x509CertificateChain and certificate", len(kinds))
		return
	}
	switch k := m.object(kinds[0]); {
	case m.has("certificate"):
		p.method = Sigstore
		p.parseChain([]object{k})
		m.objects("tlogEntries")
	case m.has("x509CertificateChain"):
		p.method = Certificate
		p.parseChain(k.objects("certificates"))
	default:
		p.method = Key
		if !k.has("rawBytes") {
			p.hint = get[string](k, "hint")
		} else if key, err := keys.ParseAny(k.bytes("rawBytes")); err == nil { // of older signers
			p.hint = pemHint(key)
		}
	}
}

// parseChain parses a chain of certificates.
func (p *Bundle) parseChain(list []object) {
	for _, o := range list {
		c, err := x509.ParseCertificate(o.bytes("rawBytes"))
		if err != nil {
			o.fail("rawBytes", tensor.ErrCorrupt, "%w", err)
		}
		p.chain = append(p.chain, c)
	}
}

// Bytes returns a copy of the bundle's text.
func (p *Bundle) Bytes() []byte { return bytes.Clone(p.raw) }

// Method returns the way the bundle identifies its signer.
func (p *Bundle) Method() Method { return p.method }

// Signer returns the signer that the bundle claims: the subject of its certificate, or the
// fingerprint of the key as the bundle states it. Only Verify checks the claim.
func (p *Bundle) Signer() string {
	if len(p.chain) > 0 {
		return certificateName(p.chain[0])
	}
	return cmp.Or(p.hint, "unknown")
}

// certificateName returns a URI of c, or else an e-mail address, or else the subject.
func certificateName(c *x509.Certificate) string {
	names := append([]string{c.Subject.String()}, c.EmailAddresses...)
	for _, uri := range c.URIs {
		names = append(names, uri.String())
	}
	return names[len(names)-1]
}

// pae returns the pre-authentication encoding of a payload.
func pae(payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// assemble returns the JSON of a bundle. signer is JSON; the other fields need no escapes.
func assemble(signer string, payload, sig []byte) []byte {
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `{"mediaType":"%s","verificationMaterial":{%s,"tlogEntries":[]},`+
		`"dsseEnvelope":{"payload":"%s","payloadType":"%s","signatures":[{"sig":"%s","keyid":""}]}}`,
		mediaType, signer, text(payload), payloadType, text(sig))
}
