package wia

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// signatures is the SignatureBlock message.
type signatures struct {
	sums    [numSums][]byte // SHA-256 of the blocks, in the order in which they are signed
	signed  bool            // false if there are only checksums
	signer  schema.Signature
	key     []byte // PKIX DER, may be empty
	value   []byte
	unknown []byte // to write
}

// read reads the block, which is m and data. It requires the four checksums, once each, and ignores
// those of other blocks.
func (g *signatures) read(m messages.Message, data []byte) error {
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case blockChecksums:
			err := g.readChecksum(f.At(), f.Message(), data)
			if err != nil {
				return err
			}
		case blockSignature:
			g.readSignature(f.Message(), data)
		}
	}
	for i, sum := range g.sums {
		if sum == nil {
			return wholeBlock("checksums", "none for the %v", block(i))
		}
	}
	return nil
}

// readChecksum reads a BlockChecksum message in the field at an offset.
func (g *signatures) readChecksum(at int64, m messages.Message, data []byte) error {
	name := ""
	digest := []byte{}
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case checksumBlock:
			name = f.Text()
		case checksumSHA:
			digest = valueOf(&f, data)
		}
	}
	i := slices.Index(blockNames[:numSums], name)
	switch {
	case i < 0:
		return nil
	case g.sums[i] != nil:
		return messages.Errorf(at, "block_type", tensor.ErrCorrupt, "%v twice", block(i))
	case len(digest) != sha256.Size:
		return messages.Errorf(at, "sha256", tensor.ErrCorrupt, "%d bytes", len(digest))
	}
	g.sums[i] = digest
	return nil
}

// readSignature reads a Signature message.
func (g *signatures) readSignature(m messages.Message, data []byte) {
	g.signed = true
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case signatureAlgorithm:
			g.signer.Algorithm = strings.Clone(f.Text())
		case signatureKey:
			g.key = valueOf(&f, data)
		case signatureValue:
			g.value = valueOf(&f, data)
		case signatureTime:
			g.signer.Timestamp = f.Int()
		}
	}
}

// valueOf returns the value of a field of a message, which is data.
func valueOf(f *messages.Cursor, data []byte) []byte {
	end := f.ValueAt() + int64(len(f.Text()))
	return data[f.ValueAt():end:end]
}

// wholeBlock returns an error about the signature block.
func wholeBlock(field, text string, args ...any) error {
	err := messages.Errorf(0, field, tensor.ErrCorrupt, text, args...)
	err.Whole = true
	return err
}

// encode returns the block without padding.
func (g *signatures) encode() (b []byte) {
	for i, name := range blockNames[:numSums] {
		var sum int
		b, sum = messages.Begin(b, blockChecksums)
		b = messages.AppendText(b, checksumBlock, name)
		b = messages.End(messages.AppendBytes(b, checksumSHA, g.sums[i]), sum)
	}
	if g.signed {
		var signature int
		b, signature = messages.Begin(b, blockSignature)
		b = messages.AppendText(b, signatureAlgorithm, g.signer.Algorithm)
		b = messages.AppendBytes(b, signatureKey, g.key)
		b = messages.AppendBytes(b, signatureValue, g.value)
		b = messages.AppendInt(b, signatureTime, g.signer.Timestamp)
		b = messages.End(b, signature)
	}
	return append(b, g.unknown...)
}

// message returns the signed message: the four digests and the timestamp.
func (g *signatures) message() []byte {
	return binary.LittleEndian.AppendUint64(slices.Concat(g.sums[:]...), uint64(g.signer.Timestamp))
}

// claimed returns the signer that the block names, nil for an unsigned file. Its PublicKey is
// nil if the file has no key or the key cannot be parsed.
func (g *signatures) claimed() *schema.Signature {
	if g == nil || !g.signed {
		return nil
	}
	out := g.signer
	out.PublicKey, _ = x509.ParsePKIXPublicKey(g.key)
	return &out
}

// mostRSA is the most bits of an RSA key in a file: the time of a check grows with their square.
const mostRSA = 16384

// checkClaim checks that the key in the file, if there is one, made the signature. A key that
// cannot be parsed, or sign by the algorithm, made none.
func (f *parsed) checkClaim() error {
	g := f.signature
	if g == nil || !g.signed || len(g.key) == 0 {
		return nil
	}
	at := f.hdr.blocks[signatureBlock].off
	named, err := x509.ParsePKIXPublicKey(g.key)
	key, isRSA := named.(*rsa.PublicKey)
	if isRSA && key.N.BitLen() > mostRSA {
		return wire.Errorf(formatName, "signature", at, format.ErrSignature,
			"the RSA key in the file has %d bits, at most %d are checked", key.N.BitLen(), mostRSA)
	}
	if err != nil || g.check(named) != nil {
		return wire.Errorf(formatName, "signature", at, format.ErrSignature,
			"the signature was not made by the key in the file")
	}
	return nil
}

// checkSignature checks the signature with the trusted key or, without one, with that in the file.
func (f *parsed) checkSignature(v driver.Verification) error {
	g := f.signature
	if g == nil {
		return nil // checkDemand refuses it
	}
	trusted := v.Trusted()
	if trusted == nil {
		if !g.signed {
			return nil
		}
		v.Signed(false)
		return f.checkClaim()
	}
	err := g.check(trusted)
	if err != nil {
		at := f.hdr.blocks[signatureBlock].off
		return wire.Errorf(formatName, "signature", at, format.ErrSignature, "%v", err)
	}
	v.Signed(true)
	return nil
}

// check checks that the block is signed with the trusted key. The key in the file is only a claim.
func (g *signatures) check(trusted crypto.PublicKey) error {
	named, err := x509.ParsePKIXPublicKey(g.key)
	switch {
	case !g.signed:
		return errors.New("the file is not signed")
	case len(g.key) > 0 && (err != nil || !keys.Equal(named, trusted)):
		return errors.New("not signed with the trusted key")
	case g.signer.Algorithm != algorithmOf(trusted):
		return fmt.Errorf("algorithm %q does not match a trusted key of type %T",
			g.signer.Algorithm, trusted)
	}
	digest := sha256.Sum256(g.message())
	valid := false
	switch key := trusted.(type) {
	case *rsa.PublicKey:
		valid = rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], g.value) == nil
	case *ecdsa.PublicKey:
		valid = ecdsa.VerifyASN1(key, digest[:], g.value)
	}
	if !valid {
		return errors.New("it does not match the checksums")
	}
	return nil
}

// usable reports whether a key is not nil or empty inside its interface.
func usable(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k != nil && k.N != nil
	case *ecdsa.PublicKey:
		return k != nil && k.Curve != nil && k.X != nil && k.Y != nil
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize
	case *rsa.PrivateKey:
		return k != nil && k.N != nil && k.D != nil
	case *ecdsa.PrivateKey:
		return k != nil && k.D != nil
	case ed25519.PrivateKey:
		return len(k) == ed25519.PrivateKeySize
	}
	return true
}

// The values of Signature.algorithm.
const (
	algorithmRSA   = "RSA-SHA256"
	algorithmECDSA = "ECDSA"
)

// algorithmOf returns the algorithm of a key, "none" if it cannot sign WIA files.
func algorithmOf(public crypto.PublicKey) string {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return algorithmRSA
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return algorithmECDSA
		}
	}
	return "none"
}

// PrivateKey parses a PKCS #8 private key in PEM form, as made by "openssl
// genpkey", for format.WriteOptions.Signer.
func PrivateKey(pem []byte) (crypto.Signer, error) { return keys.ParsePrivate(pem) }

// PublicKey parses a PKIX public key in PEM form, for format.TrustKey.
func PublicKey(pem []byte) (crypto.PublicKey, error) { return keys.ParsePublic(pem) }

// longestECDSA is the size of two 33-byte integers in ASN.1.
const longestECDSA = 2 + 2*(2+33)

// prepare checks a signer, nil for checksums only, and returns the size of the block. The header
// states it and is signed, so it must be known before signing.
func (g *signatures) prepare(by crypto.Signer) (size int64, err error) {
	slack := len(g.sums) * sha256.Size
	if g.signed = by != nil; g.signed {
		if usable(by) && usable(by.Public()) {
			g.signer.Algorithm = algorithmOf(by.Public())
		}
		switch g.signer.Algorithm {
		case algorithmRSA:
			g.value = make([]byte, by.Public().(*rsa.PublicKey).Size())
		case algorithmECDSA:
			// The length of the signature varies. A padding field fills the
			// rest, and takes at least two bytes.
			g.value = make([]byte, longestECDSA)
			slack = slack + 2
		default:
			return 0, fmt.Errorf("%w: a %T that is nil, empty, or cannot sign WIA files", format.ErrKey, by)
		}
		if g.key, err = x509.MarshalPKIXPublicKey(by.Public()); err != nil {
			return 0, fmt.Errorf("%w: %w", format.ErrKey, err)
		}
	}
	return int64(len(g.encode()) + slack), nil
}

// sign signs the checksums and returns the signature block of exactly size bytes. With an
// *ecdsa.PrivateKey the signature is deterministic (RFC 6979), so that the same input gives the
// same file.
func (g *signatures) sign(by crypto.Signer, size int64) (_ []byte, err error) {
	if g.signed {
		digest := sha256.Sum256(g.message())
		random := io.Reader(rand.Reader)
		if _, ok := by.(*ecdsa.PrivateKey); ok {
			random = nil
		}
		if g.value, err = by.Sign(random, digest[:], crypto.SHA256); err != nil {
			return nil, fmt.Errorf("%w: %w", format.ErrSignature, err)
		}
	}
	b := g.encode()
	switch gap := size - int64(len(b)); {
	case gap == 0:
		return b, nil
	case gap < 2 || gap > 129:
		return nil, fmt.Errorf("%w: the signature has %d bytes, which does not fit its block",
			format.ErrSignature, len(g.value))
	default:
		return messages.AppendBytes(b, padding, make([]byte, gap-2)), nil
	}
}
