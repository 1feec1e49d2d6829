package mle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// Offsets in the signature section.
const (
	sigTime  = 4
	sigKey   = 12
	sigBytes = 44
	sigHash  = 108
)

// signer returns the signer that the file claims, nil for an unsigned file.
func (f *parsed) signer() *schema.Signature {
	if f.sig == nil {
		return nil
	}
	return &schema.Signature{
		Algorithm: "Ed25519",
		PublicKey: ed25519.PublicKey(bytes.Clone(f.sig[sigKey:sigBytes])),
		Timestamp: int64(binary.LittleEndian.Uint64(f.sig[sigTime:])),
	}
}

// checkClaim checks that the key in the file signed the recorded hash.
func (f *parsed) checkClaim() error {
	if f.sig == nil {
		return nil
	}
	key := ed25519.PublicKey(f.sig[sigKey:sigBytes])
	if ed25519.Verify(key, f.sig[sigHash:], f.sig[sigBytes:sigHash]) {
		return nil
	}
	return fail("signature", f.h.Signature.Offset+sigBytes, format.ErrSignature,
		"the signature was not made by the key in the file")
}

// authenticate compares the recorded hash with the file, and checks the signature with the key in
// the file, which must be the trusted key if there is one.
func (f *parsed) authenticate(v driver.Verification) error {
	trusted, ok := v.Trusted().(ed25519.PublicKey)
	switch {
	case ok && len(trusted) != ed25519.PublicKeySize:
		return fail("signature", -1, format.ErrKey, "%w: the trusted key has %d bytes, an Ed25519 key has %d",
			format.ErrSignature, len(trusted), ed25519.PublicKeySize)
	case f.sig == nil && v.Trusted() == nil:
		return nil
	case f.sig == nil && f.h.Version == 1: // it has the field, but no signatures
		return f.h.fail("signature_offset", format.ErrSignature, "the file is not signed")
	case f.sig == nil:
		return f.h.fail("signature_size", format.ErrSignature, "the file is not signed")
	}
	digest, err := f.modelHash(v)
	if err != nil {
		return err
	}
	at := f.h.Signature.Offset
	if !bytes.Equal(digest, f.sig[sigHash:]) {
		return fail("model_hash", at+sigHash, format.ErrSignature, "the file was changed after it was signed")
	}
	err = f.checkClaim()
	if err != nil {
		return err
	}
	if v.Trusted() == nil {
		v.Signed(false)
		return nil
	}
	key := ed25519.PublicKey(f.sig[sigKey:sigBytes])
	if !key.Equal(trusted) {
		return fail("signature", at+sigKey, format.ErrSignature,
			"the file was not signed with the trusted key")
	}
	v.Signed(true)
	return nil
}

// modelHash returns the SHA-256 of all bytes of the file except the signature section. Feed
// fails for bytes that are not those that were parsed.
func (f *parsed) modelHash(v driver.Verification) ([]byte, error) {
	h, s := sha256.New(), f.h.Signature
	err := v.Feed(h, 0, 0, s.Offset, "signature")
	if err == nil {
		err = v.Feed(h, 0, s.End(), f.src.Size()-s.End(), "signature")
	}
	return h.Sum(nil), err
}
