package signing

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
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

// maxBundle is how large a bundle may be: some 300,000 files.
const maxBundle = 64 << 20

// Method says how a bundle identifies its signer.
type Method string

// The methods.
const (
	Key         Method = "key"         // by a public key that the verifier has
	Certificate Method = "certificate" // by a chain of certificates to a root that the verifier has
	Sigstore    Method = "sigstore"    // by a certificate of some minutes, and a transparency log
)

// Bundle is a parsed signature, which nothing has been checked of. It does not change.
type Bundle struct {
	// Path is where the bundle was read from, "" for none. That file is never
	// part of the model.
	Path string
	raw  []byte

	method     Method
	hint       string              // of the key
	key        []byte              // instead, in older bundles
	chain      []*x509.Certificate // leaf first
	timestamps [][]byte            // tokens of RFC 3161
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
	if err := o.is("mediaType", mediaType); err != nil {
		return nil, err
	}
	p := &Bundle{raw: bytes.Clone(b)}
	m, err := o.object("verificationMaterial")
	if err == nil {
		err = p.parseMaterial(m)
	}
	if err == nil && o.has("messageSignature") {
		err = fail("messageSignature", driver.ErrUnsupported, "it signs no statement")
	}
	if err != nil {
		return nil, err
	}
	e, err := o.object("dsseEnvelope")
	if err == nil {
		err = p.parseEnvelope(e)
	}
	return p, err
}

// parseMaterial parses what identifies the signer.
func (p *Bundle) parseMaterial(m object) (err error) {
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
		return fail(m.field, tensor.ErrCorrupt, "%d of publicKey, x509CertificateChain and certificate", n)
	}
	switch p.method {
	case Key:
		err = p.parseKey(m)
	case Certificate:
		err = p.parseChain(m)
	default:
		err = p.parseSigstore(m)
	}
	if err != nil || !m.has("timestampVerificationData") {
		return err
	}
	t, err := m.object("timestampVerificationData")
	if err != nil || !t.has("rfc3161Timestamps") {
		return err
	}
	list, err := t.objects("rfc3161Timestamps")
	for _, o := range list {
		token, err := o.bytes("signedTimestamp")
		if err != nil {
			return err
		}
		p.timestamps = append(p.timestamps, token)
	}
	return err
}

func (p *Bundle) parseKey(m object) error {
	k, err := m.object("publicKey")
	switch {
	case err != nil:
	case k.has("rawBytes"):
		p.key, err = k.bytes("rawBytes")
	default:
		p.hint, err = get[string](k, "hint")
	}
	return err
}

func (p *Bundle) parseChain(m object) error {
	c, err := m.object("x509CertificateChain")
	if err != nil {
		return err
	}
	list, err := c.objects("certificates")
	if err == nil && len(list) == 0 {
		err = fail(c.name("certificates"), tensor.ErrCorrupt, "there is none")
	}
	for _, o := range list {
		cert, err := parseCertificate(o)
		if err != nil {
			return err
		}
		p.chain = append(p.chain, cert)
	}
	return err
}

func (p *Bundle) parseSigstore(m object) error {
	o, err := m.object("certificate")
	if err != nil {
		return err
	}
	cert, err := parseCertificate(o)
	if err != nil {
		return err
	}
	p.chain = []*x509.Certificate{cert}
	entries, err := m.objects("tlogEntries")
	if err == nil && len(entries) == 0 {
		err = fail(m.name("tlogEntries"), tensor.ErrCorrupt, "there is no entry of a transparency log")
	}
	return err
}

func parseCertificate(o object) (*x509.Certificate, error) {
	der, err := o.bytes("rawBytes")
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fail(o.name("rawBytes"), tensor.ErrCorrupt, "%w", err)
	}
	return c, nil
}

func (p *Bundle) parseEnvelope(e object) (err error) {
	if err := e.is("payloadType", payloadType); err != nil {
		return err
	}
	if p.payload, err = e.bytes("payload"); err != nil {
		return err
	}
	list, err := e.objects("signatures")
	if err == nil && len(list) != 1 {
		err = fail(e.name("signatures"), tensor.ErrCorrupt, "%d signatures, not one", len(list))
	}
	if err != nil {
		return err
	}
	if id := list[0]; id.has("keyid") {
		if _, err := get[string](id, "keyid"); err != nil {
			return err
		}
	}
	p.sig, err = list[0].bytes("sig")
	return err
}

// Bytes returns the text of the bundle, in memory of the caller's.
func (p *Bundle) Bytes() []byte { return bytes.Clone(p.raw) }

// Method returns how the bundle identifies its signer.
func (p *Bundle) Method() Method { return p.method }

// Signer says who claims to have signed: the subject of the certificate, or the fingerprint
// of the key as the bundle has it. Verify finds out whether that is so.
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

// certificateName is how a certificate is called: by its subject, or by the address in it.
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

// The bundle as it is written.
type (
	bundleJSON struct {
		MediaType    string       `json:"mediaType"`
		Material     materialJSON `json:"verificationMaterial"`
		DSSEEnvelope envelopeJSON `json:"dsseEnvelope"`
	}
	materialJSON struct {
		PublicKey *hintJSON  `json:"publicKey,omitempty"`
		Chain     *chainJSON `json:"x509CertificateChain,omitempty"`
		Log       []struct{} `json:"tlogEntries"`
	}
	hintJSON struct {
		Hint string `json:"hint"`
	}
	chainJSON struct {
		Certificates []rawJSON `json:"certificates"`
	}
	rawJSON struct {
		RawBytes string `json:"rawBytes"`
	}
	envelopeJSON struct {
		Payload     string          `json:"payload"`
		PayloadType string          `json:"payloadType"`
		Signatures  []signatureJSON `json:"signatures"`
	}
	signatureJSON struct {
		Sig   string `json:"sig"`
		KeyID string `json:"keyid"`
	}
)

// assemble makes a bundle.
func assemble(m materialJSON, payload, sig []byte) ([]byte, error) {
	m.Log = []struct{}{}
	return json.Marshal(bundleJSON{mediaType, m, envelopeJSON{
		base64.StdEncoding.EncodeToString(payload), payloadType,
		[]signatureJSON{{Sig: base64.StdEncoding.EncodeToString(sig)}},
	}})
}
