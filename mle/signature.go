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

// SignatureStatus is the outcome of checking a signature.
type SignatureStatus uint8

// The four outcomes.
const (
	Unsigned  SignatureStatus = iota // there is no signature
	Untrusted                        // intact, but the key is not the trusted one, or none was given
	Valid                            // intact, and made with the trusted key
	Tampered                         // the file or the signature changed after signing
)

var statusNames = [...]string{"unsigned", "signed by an untrusted key", "valid", "tampered with"}

// String describes the status in a few words.
func (s SignatureStatus) String() string {
	if int(s) >= len(statusNames) {
		return "unknown"
	}
	return statusNames[s]
}

// checkClaim checks that the key in the file signed the recorded hash.
func (f *parsed) checkClaim() error {
	if f.sig == nil || f.isClaimTrue(f.sig[sigHash:]) {
		return nil
	}
	return fail("signature", f.h.Signature.Offset+sigBytes, format.ErrSignature, "the signature was not made by the key in the file")
}

// isClaimTrue reports whether the key in the file signed a digest.
func (f *parsed) isClaimTrue(digest []byte) bool {
	key := ed25519.PublicKey(f.sig[sigKey:sigBytes])
	return ed25519.Verify(key, digest, f.sig[sigBytes:sigHash])
}

// authenticate requires a valid signature by the trusted key. Without a trusted key it compares the recorded
// hash, and checks the signature with the key in the file, which says nothing about who signed.
func (f *parsed) authenticate(v driver.Verification) error {
	trusted, ok := v.Trusted().(ed25519.PublicKey)
	switch {
	case ok && len(trusted) != ed25519.PublicKeySize:
		return fail("signature", -1, format.ErrKey, "%w: the trusted key has %d bytes, an Ed25519 key has %d", format.ErrSignature, len(trusted), ed25519.PublicKeySize)
	case f.sig == nil && v.Trusted() == nil:
		return nil
	case f.sig == nil && f.h.Version == 1: // it has the field, but no signatures
		return f.h.fail("signature_offset", format.ErrSignature, "the file is not signed")
	case f.sig == nil:
		return f.h.fail("signature_size", format.ErrSignature, "the file is not signed")
	}
	digest, err := f.modelHash(v)
	at := f.h.Signature.Offset
	switch {
	case err != nil:
		return err
	case v.Trusted() == nil && !bytes.Equal(digest, f.sig[sigHash:]):
		return fail("model_hash", at+sigHash, format.ErrSignature, "the file was changed after it was signed")
	case v.Trusted() == nil:
		v.Signed(driver.SignatureUnknown)
		return f.checkClaim()
	}
	switch f.statusOf(digest, trusted) {
	case Untrusted:
		return fail("signature", at+sigKey, format.ErrSignature, "the file was not signed with the trusted key")
	case Tampered:
		return fail("signature", at, format.ErrSignature, "the file or its signature was changed after it was signed")
	}
	v.Signed(driver.SignatureTrusted)
	return nil
}

// statusOf checks the signature of a digest with the key in the file, and compares that
// key with the trusted one.
func (f *parsed) statusOf(digest []byte, trusted ed25519.PublicKey) SignatureStatus {
	key := ed25519.PublicKey(f.sig[sigKey:sigBytes])
	switch {
	case !bytes.Equal(digest, f.sig[sigHash:]), !f.isClaimTrue(digest):
		return Tampered
	case !key.Equal(trusted):
		return Untrusted
	}
	return Valid
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
