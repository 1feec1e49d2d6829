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

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
)

// signatures is the SignatureBlock message.
type signatures struct {
	sums    [numSums][sha256.Size]byte // of the blocks, in the order in which they are signed
	have    [numSums]bool
	signed  bool // false if there are only checksums
	signer  driver.Signature
	key     []byte // PKIX DER, may be empty
	value   []byte
	unknown []byte
}

// read reads the block. It requires the four checksums, once each, and ignores
// those of other blocks.
func (g *signatures) read(s *protobuf.Source) error {
	x := &struct {
		block, sum          protobuf.Field
		checksum, signature protobuf.Into
	}{}
	x.checksum = protobuf.Into{1: &x.block, &x.sum}
	x.signature = protobuf.Into{&g.signed, &g.signer.Algorithm, &g.key, &g.value, &g.signer.Timestamp}
	w := s.Walk(signatureBlockMsg, s.All(), 1)
	for w.Next() {
		switch {
		case w.Num == 1:
			x.block, x.sum = protobuf.Field{}, protobuf.Field{}
			if w.Err = s.Read(w.Def.Message, w.Field, 2, &x.checksum); w.Err == nil {
				w.Err = g.add(s.Win[x.block.Start:x.block.End], s.Win[x.sum.Start:x.sum.End])
			}
		case w.Num == 2:
			w.Err = s.Read(w.Def.Message, w.Field, 2, &x.signature)
		case w.Def == nil:
			w.Err = s.Keep(&g.unknown, &w.Field)
		}
	}
	if i := slices.Index(g.have[:], false); w.Err == nil && i >= 0 {
		return protobuf.Corruptf("checksums", 0, "none for the %v", block(i))
	}
	return w.Err
}

// add records a checksum.
func (g *signatures) add(name, sum []byte) error {
	i := slices.Index(blockNames[:numSums], string(name))
	switch {
	case i < 0:
		return nil
	case g.have[i]:
		return protobuf.Corruptf("block_type", 0, "%q twice", name)
	case len(sum) != sha256.Size:
		return protobuf.Corruptf("sha256", 0, "%d bytes", len(sum))
	}
	g.have[i] = true
	copy(g.sums[i][:], sum)
	return nil
}

// encode returns the block without padding.
func (g *signatures) encode() (b []byte) {
	for i, name := range blockNames[:numSums] {
		b = protobuf.PutBytes(b, 1, protobuf.PutBytes(protobuf.PutText(nil, 1, name), 2, g.sums[i][:]))
	}
	if g.signed {
		m := protobuf.PutBytes(protobuf.PutBytes(protobuf.PutText(nil, 1, g.signer.Algorithm), 2, g.key), 3, g.value)
		b = protobuf.PutBytes(b, 2, protobuf.PutInt(m, 4, g.signer.Timestamp))
	}
	return append(b, g.unknown...)
}

// message returns the signed message: the four digests and the timestamp.
func (g *signatures) message() (out []byte) {
	for _, sum := range g.sums {
		out = append(out, sum[:]...)
	}
	return binary.LittleEndian.AppendUint64(out, uint64(g.signer.Timestamp))
}

// signer returns the claimed signer, nil for an unsigned file. Its PublicKey is
// nil if the file has no key or the key cannot be parsed.
func (f *parsed) signer() *driver.Signature {
	if f.signature == nil || !f.signature.signed {
		return nil
	}
	out := f.signature.signer
	if key, err := x509.ParsePKIXPublicKey(f.signature.key); err == nil {
		out.PublicKey = key
	}
	return &out
}

// checkSignature checks the signature with the trusted key, if any. The key in the
// file is only a claim.
func (f *parsed) checkSignature(v driver.Verification) error {
	g, trusted := f.signature, v.Trusted()
	fail := func(text string, args ...any) error {
		return wire.Errorf(formatName, "signature", f.hdr.blocks[signatureBlock].off, format.ErrSignature, text, args...)
	}
	switch {
	case !g.signed && trusted == nil:
		v.Signed(driver.Unsigned)
		return nil
	case !g.signed:
		return fail("the file is not signed")
	case trusted == nil:
		v.Signed(driver.SignatureUnknown)
		return nil
	}
	if len(g.key) > 0 {
		named, err := x509.ParsePKIXPublicKey(g.key)
		if err != nil {
			return fail("public_key: %v", err)
		}
		if !keys.Equal(named, trusted) {
			return fail("not signed with the trusted key")
		}
	}
	digest := sha256.Sum256(g.message())
	err := fmt.Errorf("algorithm %q does not match a trusted key of type %T", g.signer.Algorithm, trusted)
	switch key := trusted.(type) {
	case *rsa.PublicKey:
		if g.signer.Algorithm == algorithmRSA {
			err = rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], g.value)
		}
	case *ecdsa.PublicKey:
		if g.signer.Algorithm == algorithmECDSA && key.Curve == elliptic.P256() {
			if err = nil; !ecdsa.VerifyASN1(key, digest[:], g.value) {
				err = errors.New("the ECDSA signature does not match")
			}
		}
	}
	if err != nil {
		return fail("%v", err)
	}
	v.Signed(driver.SignatureTrusted)
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

// PrivateKey parses a PKCS #8 private key in PEM form, as made by "openssl
// genpkey", for WriteOptions.Signer.
func PrivateKey(pem []byte) (crypto.Signer, error) { return keys.ParsePrivate(pem) }

// PublicKey parses a PKIX public key in PEM form, for format.WithTrustedKey.
func PublicKey(pem []byte) (crypto.PublicKey, error) { return keys.ParsePublic(pem) }

// signing makes the signature block of a file being written. The header states
// its size and is signed, so the size must be known before signing.
type signing struct {
	signatures
	by      crypto.Signer // nil for checksums only
	longest int           // length of the longest signature
	size    int64         // of the block
}

// longestECDSA is the size of two 33-byte integers in ASN.1.
const longestECDSA = 2 + 2*(2+33)

// init checks the key and computes the size of the block.
func (s *signing) init() (err error) {
	slack := 0
	if s.signed = s.by != nil; s.signed {
		public := crypto.PublicKey(nil)
		if usable(s.by) {
			public = s.by.Public()
		}
		if public == nil || !usable(public) {
			return fmt.Errorf("%w: the signer is a nil or empty %T", format.ErrKey, s.by)
		}
		switch key := public.(type) {
		case *rsa.PublicKey:
			s.signer.Algorithm, s.longest = algorithmRSA, key.Size()
		case *ecdsa.PublicKey:
			if key.Curve != elliptic.P256() {
				return fmt.Errorf("%w: an ECDSA key must be on P-256", format.ErrKey)
			}
			// The length of an ECDSA signature varies. A padding field fills the
			// rest, and takes at least two bytes.
			s.signer.Algorithm, s.longest, slack = algorithmECDSA, longestECDSA, 2
		default:
			return fmt.Errorf("%w: a %T cannot sign WIA files", format.ErrKey, key)
		}
		if s.key, err = x509.MarshalPKIXPublicKey(public); err != nil {
			return fmt.Errorf("%w: %w", format.ErrKey, err)
		}
	}
	s.value = make([]byte, s.longest)
	s.size = int64(len(s.encode()) + slack)
	return nil
}

// block returns the signature block of exactly size bytes. With an
// *ecdsa.PrivateKey the signature is deterministic (RFC 6979), so that the same
// input gives the same file.
func (s *signing) block() (_ []byte, err error) {
	if s.signed {
		digest, random := sha256.Sum256(s.message()), io.Reader(rand.Reader)
		if _, ok := s.by.(*ecdsa.PrivateKey); ok {
			random = nil
		}
		if s.value, err = s.by.Sign(random, digest[:], crypto.SHA256); err != nil {
			return nil, fmt.Errorf("%w: %w", format.ErrSignature, err)
		}
	}
	b := s.encode()
	switch gap := s.size - int64(len(b)); {
	case gap == 0:
		return b, nil
	case gap < 2 || gap > 129:
		return nil, fmt.Errorf("%w: the signature has %d bytes, expected at most %d", format.ErrSignature, len(s.value), s.longest)
	default:
		return protobuf.PutBytes(b, 15, make([]byte, gap-2)), nil
	}
}
