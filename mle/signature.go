package mle

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
)

// Offsets in the signature section.
const (
	sigTime  = 4
	sigKey   = 12
	sigBytes = 44
	sigHash  = 108
)

// checkSignatureSection checks size and algorithms.
func checkSignatureSection(b []byte, base int64) error {
	c := wire.NewCursor(formatName, b, base)
	algorithm, digest := c.U8("signature algorithm"), c.U8("signature hash_algorithm")
	switch {
	case c.Err() != nil:
		return c.Err()
	case algorithm != 1:
		return fail("signature algorithm", base, format.ErrUnsupported, "%d, only 1 (Ed25519) is known", algorithm)
	case digest != 1:
		return fail("signature hash_algorithm", base+1, format.ErrUnsupported, "%d, only 1 (SHA-256) is known", digest)
	case len(b) != signatureSize:
		return fail("signature_size", signaturePos+8, format.ErrCorrupt, "%d, not %d", len(b), signatureSize)
	}
	return nil
}

// Signature returns what the signature section says of its signer, nil for an
// unsigned file. It proves nothing: CheckSignature does.
func (f *File) Signature() *format.Signature {
	if f.sig == nil {
		return nil
	}
	var s *format.Signature
	_ = f.use(func() error {
		s = &format.Signature{
			Algorithm: "Ed25519",
			PublicKey: ed25519.PublicKey(bytes.Clone(f.sig[sigKey:sigBytes])),
			Timestamp: int64(binary.LittleEndian.Uint64(f.sig[sigTime:])),
		}
		return nil
	})
	return s
}

// SignatureStatus is the outcome of checking a signature.
type SignatureStatus uint8

// The four outcomes.
const (
	Unsigned  SignatureStatus = iota // there is no signature
	Untrusted                        // intact, but made by another key than the trusted one, or none was given
	Valid                            // intact, and made by the trusted key
	Tampered                         // the file or the signature was changed after signing
)

var statusNames = [...]string{"unsigned", "signed by an untrusted key", "valid", "tampered with"}

// String describes the status in a few words.
func (s SignatureStatus) String() string { return statusNames[s] }

// CheckSignature hashes the file and checks its signature against the key that
// the caller trusts, which may be nil. The key in the file only says who
// claims to have signed. The error tells what kept it from finding out.
func (f *File) CheckSignature(ctx context.Context, trusted ed25519.PublicKey) (SignatureStatus, error) {
	var status SignatureStatus
	err := f.use(func() (err error) {
		status, err = f.checkSignature(ctx, trusted, nil)
		return err
	})
	return status, err
}

func (f *File) checkSignature(ctx context.Context, trusted ed25519.PublicKey, p *work.Progress) (SignatureStatus, error) {
	if f.sig == nil {
		return Unsigned, nil
	}
	digest, err := f.modelHash(ctx, p)
	if err != nil {
		return 0, err
	}
	// Others may write to a mapped file: what is compared is what is verified.
	sig := bytes.Clone(f.sig)
	key := ed25519.PublicKey(sig[sigKey:sigBytes])
	known := trusted != nil && key.Equal(trusted)
	if known {
		key = trusted
	}
	switch {
	case !bytes.Equal(digest, sig[sigHash:]), !ed25519.Verify(key, digest, sig[sigBytes:sigHash]):
		return Tampered, nil
	case !known:
		return Untrusted, nil
	}
	return Valid, nil
}

// checkModelHash compares the recorded hash of a signed file with its own.
func (f *File) checkModelHash(ctx context.Context, p *work.Progress) error {
	if f.sig == nil {
		return nil
	}
	digest, err := f.modelHash(ctx, p)
	if err == nil && !bytes.Equal(digest, f.sig[sigHash:]) {
		err = fail("model_hash", f.h.Signature.Offset+sigHash, format.ErrSignature, "the file was changed after it was signed")
	}
	return err
}

// modelHash is the SHA-256 of all bytes of the file but the signature section.
func (f *File) modelHash(ctx context.Context, p *work.Progress) ([]byte, error) {
	h := sha256.New()
	s := f.h.Signature
	if err := f.hashRange(ctx, h, 0, s.Offset, p); err != nil {
		return nil, err
	}
	if err := f.hashRange(ctx, h, s.End(), f.Region().Size(), p); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// hashRange feeds a range of the file to h.
func (f *File) hashRange(ctx context.Context, h hash.Hash, from, to int64, p *work.Progress) error {
	return f.eachPart(from, to, func(b []byte) error {
		return work.Chunks(ctx, b, p, "signature", func(piece []byte) { h.Write(piece) })
	})
}

// eachPart calls fn with one part of a range of the file after the other: all of
// it at once in memory, a few megabytes each from a reader.
func (f *File) eachPart(from, to int64, fn func([]byte) error) error {
	step := to - from
	if !f.Region().InMemory() {
		step = min(step, 4<<20)
	}
	for from < to {
		b, err := f.Region().Slice(from, min(step, to-from))
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return nil
}

// signatureError is what verification says of a status.
func signatureError(h *Header, status SignatureStatus, key crypto.PublicKey) error {
	switch status {
	case Unsigned:
		if key != nil {
			return fail("signature", -1, format.ErrSignature, "the file is not signed")
		}
	case Untrusted:
		if key != nil {
			return fail("signature", h.Signature.Offset+sigKey, format.ErrSignature, "the file was signed by another key than the trusted one")
		}
	case Tampered:
		return fail("signature", h.Signature.Offset, format.ErrSignature, "the file or its signature was changed after it was signed")
	}
	return nil
}
