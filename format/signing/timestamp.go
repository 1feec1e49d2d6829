package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha512" // registers the SHA-512 family, which tokens may use
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/weightmap/weightmap/format/driver"
)

// The parts of an RFC 3161 response: a CMS message (RFC 5652) around a TSTInfo.
type (
	tsResponse struct {
		Status struct {
			Status int
			Text   asn1.RawValue  `asn1:"optional,tag:16"`
			Fail   asn1.BitString `asn1:"optional"`
		}
		Token struct {
			Type    asn1.ObjectIdentifier
			Content tsSignedData `asn1:"explicit,tag:0"`
		}
	}
	tsSignedData struct {
		Version int
		Digests asn1.RawValue
		Content struct {
			Type asn1.ObjectIdentifier
			Info []byte `asn1:"explicit,tag:0"`
		}
		Certificates asn1.RawValue `asn1:"optional,tag:0"`
		CRLs         asn1.RawValue `asn1:"optional,tag:1"`
		Signers      []tsSigner    `asn1:"set"`
	}
	tsSigner struct {
		Version   int
		ID        tsIssuer
		Digest    pkix.AlgorithmIdentifier
		Signed    asn1.RawValue `asn1:"tag:0"`
		Algorithm pkix.AlgorithmIdentifier
		Signature []byte
		Unsigned  asn1.RawValue `asn1:"optional,tag:1"`
	}
	tsIssuer struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	tsAttribute struct {
		Type   asn1.ObjectIdentifier
		Values asn1.RawValue `asn1:"set"`
	}
	tsInfo struct {
		Version int
		Policy  asn1.ObjectIdentifier
		Imprint struct {
			Algorithm pkix.AlgorithmIdentifier
			Hash      []byte
		}
		Serial *big.Int
		Time   asn1.RawValue
		// The remaining fields are not needed.
	}
)

var (
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
)

// checkTimestamps returns the time of the first timestamp that verifies.
func checkTimestamps(tokens [][]byte, sig []byte, t *Trust) (when time.Time, err error) {
	for _, token := range tokens {
		var bad error
		if when, bad = checkTimestamp(token, sig, t.Timestamps); bad == nil {
			return when, nil
		}
		if err == nil {
			err = fail("verificationMaterial.timestampVerificationData", driver.ErrSignature, "the timestamp: %w", bad)
		}
	}
	return when, err
}

// checkTimestamp verifies that an authority timestamped sig and returns the time.
func checkTimestamp(token, sig []byte, roots *x509.CertPool) (when time.Time, err error) {
	var r tsResponse
	if rest, err := asn1.Unmarshal(token, &r); err != nil || len(rest) > 0 {
		return when, errors.Join(errors.New("it is no response of RFC 3161"), err)
	}
	d := &r.Token.Content
	if r.Status.Status > 1 || !r.Token.Type.Equal(oidSignedData) || !d.Content.Type.Equal(oidTSTInfo) || len(d.Signers) != 1 {
		return when, errors.New("it holds no token of one authority")
	}
	var info tsInfo
	if _, err := asn1.Unmarshal(d.Content.Info, &info); err != nil {
		return when, err
	}
	h, err := hashNamed(info.Imprint.Algorithm)
	if err != nil {
		return when, err
	}
	if !bytes.Equal(hashed(h, sig), info.Imprint.Hash) {
		return when, errors.New("it is of another signature")
	}
	// time.Parse accepts fractions of a second even if the layout has none.
	if when, err = time.Parse("20060102150405Z0700", string(info.Time.Bytes)); err != nil || info.Time.Tag != asn1.TagGeneralizedTime {
		return when, errors.Join(errors.New("it has no time"), err)
	}
	return when, d.check(when, roots)
}

// check verifies the signature of the message and that the signing certificate may issue
// timestamps.
func (d *tsSignedData) check(when time.Time, roots *x509.CertPool) error {
	s := &d.Signers[0]
	h, err := hashNamed(s.Digest)
	if err != nil {
		return err
	}
	if err := s.checkAttributes(hashed(h, d.Content.Info)); err != nil {
		return err
	}
	list, err := x509.ParseCertificates(d.Certificates.Bytes)
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	var of *x509.Certificate
	for _, c := range list {
		if bytes.Equal(c.RawIssuer, s.ID.Issuer.FullBytes) && c.SerialNumber.Cmp(s.ID.Serial) == 0 {
			of = c
		}
		between.AddCert(c)
	}
	if of == nil {
		return errors.New("the certificate of the authority is not in it")
	}
	_, err = of.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: when, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}})
	if err != nil {
		return err
	}
	// The signature covers the attributes encoded as a SET; the message encodes them with an
	// implicit tag.
	attributes := bytes.Clone(s.Signed.FullBytes)
	attributes[0] = asn1.TagSet | 0x20
	return of.CheckSignature(algorithm(of.PublicKey, h), attributes, s.Signature)
}

// checkAttributes checks that the signed attributes contain the digest want of the content.
func (s *tsSigner) checkAttributes(want []byte) error {
	isInfo, isDigest := false, false
	for rest := s.Signed.Bytes; len(rest) > 0; {
		var a tsAttribute
		var err error
		if rest, err = asn1.Unmarshal(rest, &a); err != nil {
			return err
		}
		switch {
		case a.Type.Equal(oidContentType):
			var id asn1.ObjectIdentifier
			_, err = asn1.Unmarshal(a.Values.Bytes, &id)
			isInfo = id.Equal(oidTSTInfo)
		case a.Type.Equal(oidMessageDigest):
			var sum []byte
			_, err = asn1.Unmarshal(a.Values.Bytes, &sum)
			isDigest = bytes.Equal(sum, want)
		}
		if err != nil {
			return err
		}
	}
	if !isInfo || !isDigest {
		return errors.New("its signature is not of its content")
	}
	return nil
}

// hashNamed returns the hash that id identifies.
func hashNamed(id pkix.AlgorithmIdentifier) (crypto.Hash, error) {
	nist := asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2}
	if n := len(nist); len(id.Algorithm) == n+1 && id.Algorithm[:n].Equal(nist) {
		switch id.Algorithm[n] {
		case 1:
			return crypto.SHA256, nil
		case 2:
			return crypto.SHA384, nil
		case 3:
			return crypto.SHA512, nil
		}
	}
	return 0, fmt.Errorf("%w: the hash %v", driver.ErrUnsupported, id.Algorithm)
}

// algorithm returns the signature algorithm for key and h.
func algorithm(key crypto.PublicKey, h crypto.Hash) x509.SignatureAlgorithm {
	switch key.(type) {
	case *ecdsa.PublicKey:
		return map[crypto.Hash]x509.SignatureAlgorithm{crypto.SHA256: x509.ECDSAWithSHA256, crypto.SHA384: x509.ECDSAWithSHA384, crypto.SHA512: x509.ECDSAWithSHA512}[h]
	case *rsa.PublicKey:
		return map[crypto.Hash]x509.SignatureAlgorithm{crypto.SHA256: x509.SHA256WithRSA, crypto.SHA384: x509.SHA384WithRSA, crypto.SHA512: x509.SHA512WithRSA}[h]
	}
	return x509.UnknownSignatureAlgorithm
}
