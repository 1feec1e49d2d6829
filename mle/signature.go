package mle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
)

// signature is the signature section.
type signature struct {
	fields    wire.Record
	timestamp uint64
	key       ed25519.PublicKey
	signature []byte // of the hash
	hash      []byte
}

// readSignature reads the signature section, if there is one, and checks its size and algorithms.
func (p *parser) readSignature() error {
	f := p.f
	if f.sig == nil {
		return nil
	}
	s := &f.signature
	s.fields = wire.NewRecord(formatName, f.sig, f.h.Signature.Offset)
	r := &s.fields
	algorithm := r.U8("signature algorithm")
	if algorithm != 1 {
		r.Bad(format.ErrUnsupported, "%d, only 1 (Ed25519) is known", algorithm)
	}
	digest := r.U8("signature hash_algorithm")
	if digest != 1 {
		r.Bad(format.ErrUnsupported, "%d, only 1 (SHA-256) is known", digest)
	}
	if len(f.sig) != signatureSize {
		r.Stop(f.headerErrorf("signature_size", format.ErrCorrupt, "%d, not %d", len(f.sig),
			signatureSize))
	}
	r.Skip("signature reserved", 2)
	s.timestamp = r.U64("signature timestamp")
	s.key = r.Bytes("signature public_key", ed25519.PublicKeySize)
	s.signature = r.Bytes("signature signature", ed25519.SignatureSize)
	s.hash = r.Bytes("signature model_hash", sha256.Size)
	return r.Err()
}

// signer returns the signer that the file claims, nil for an unsigned file.
func (f *parsed) signer() *schema.Signature {
	if f.sig == nil {
		return nil
	}
	return &schema.Signature{
		Algorithm: "Ed25519",
		PublicKey: ed25519.PublicKey(bytes.Clone(f.signature.key)),
		Timestamp: int64(f.signature.timestamp),
	}
}

// checkClaim checks that the key in the file signed the recorded hash.
func (f *parsed) checkClaim() error {
	if f.sig == nil {
		return nil
	}
	s := &f.signature
	if ed25519.Verify(s.key, s.hash, s.signature) {
		return nil
	}
	return errorf("signature", s.fields.At("signature signature"), format.ErrSignature,
		"the signature was not made by the key in the file")
}

// authenticate compares the recorded hash with the file, and checks the signature with the key in
// the file, which must be the trusted key if there is one.
func (f *parsed) authenticate(v driver.Verification) error {
	trusted, ok := v.Trusted().(ed25519.PublicKey)
	switch {
	case ok && len(trusted) != ed25519.PublicKeySize:
		return errorf("signature", -1, format.ErrKey,
			"%w: the trusted key has %d bytes, an Ed25519 key has %d",
			format.ErrSignature, len(trusted), ed25519.PublicKeySize)
	case f.sig == nil && v.Trusted() == nil:
		return nil
	case f.sig == nil && f.h.Version == 1: // it has the field, but no signatures
		return f.headerErrorf("signature_offset", format.ErrSignature, "the file is not signed")
	case f.sig == nil:
		return f.headerErrorf("signature_size", format.ErrSignature, "the file is not signed")
	}
	digest, err := f.modelHash(v)
	if err != nil {
		return err
	}
	s := &f.signature
	if !bytes.Equal(digest, s.hash) {
		return errorf("model_hash", s.fields.At("signature model_hash"), format.ErrSignature,
			"the file was changed after it was signed")
	}
	err = f.checkClaim()
	if err != nil {
		return err
	}
	if v.Trusted() == nil {
		v.Signed(false)
		return nil
	}
	if !s.key.Equal(trusted) {
		return errorf("signature", s.fields.At("signature public_key"), format.ErrSignature,
			"the file was not signed with the trusted key")
	}
	v.Signed(true)
	return nil
}

// modelHash returns the SHA-256 of all bytes of the file except the signature section. Feed
// fails for bytes that are not those that were parsed.
func (f *parsed) modelHash(v driver.Verification) ([]byte, error) {
	h := sha256.New()
	s := f.h.Signature
	err := v.Feed(h, 0, 0, s.Offset, "signature")
	if err != nil {
		return nil, err
	}
	err = v.Feed(h, 0, s.End(), f.src.Size()-s.End(), "signature")
	if err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
