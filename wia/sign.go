package wia

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/protobuf"
)

// PrivateKey parses a PKCS #8 private key in PEM form, as made by "openssl
// genpkey", for WriteOptions.Signer.
func PrivateKey(pem []byte) (crypto.Signer, error) { return keys.ParsePrivate(pem) }

// PublicKey parses a PKIX public key in PEM form, for format.WithTrustedKey.
func PublicKey(pem []byte) (crypto.PublicKey, error) { return keys.ParsePublic(pem) }

// signing makes the signature block of a file being written. The header states
// its size and is signed, so the size must be known before signing.
type signing struct {
	signer    crypto.Signer // nil for checksums only
	head      []byte        // algorithm and public key, as fields of a Signature
	longest   int           // length of the longest signature
	timestamp int64         // Unix seconds
	unknown   []byte        // unknown fields, from a copied file
	size      int64         // of the block
}

// longestECDSA is the size of two 33-byte integers in ASN.1.
const longestECDSA = 2 + 2*(2+33)

// init checks the key and computes the size of the block.
func (s *signing) init() error {
	algorithm, slack := "", 0
	if s.signer != nil {
		public := crypto.PublicKey(nil)
		if usable(s.signer) {
			public = s.signer.Public()
		}
		if public == nil || !usable(public) {
			return fmt.Errorf("%w: the signer is a nil or empty %T", format.ErrKey, s.signer)
		}
		switch key := public.(type) {
		case *rsa.PublicKey:
			algorithm, s.longest = algorithmRSA, key.Size()
		case *ecdsa.PublicKey:
			if key.Curve != elliptic.P256() {
				return fmt.Errorf("%w: an ECDSA key must be on P-256", format.ErrKey)
			}
			// The length of an ECDSA signature varies. A padding field fills the
			// rest, and takes at least two bytes.
			algorithm, s.longest, slack = algorithmECDSA, longestECDSA, 2
		default:
			return fmt.Errorf("%w: a %T cannot sign WIA files", format.ErrKey, key)
		}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			return fmt.Errorf("%w: %w", format.ErrKey, err)
		}
		s.head = protobuf.PutBytes(protobuf.PutText(nil, 1, algorithm), 2, der)
	}
	s.size = int64(len(s.encode(&sums{}, make([]byte, s.longest))) + slack)
	return nil
}

// encode returns the SignatureBlock without padding.
func (s *signing) encode(sums *sums, sig []byte) (b []byte) {
	for i, name := range blockNames[:numSums] {
		b = protobuf.PutBytes(b, 1, protobuf.PutBytes(protobuf.PutText(nil, 1, name), 2, sums[i][:]))
	}
	if s.signer != nil {
		m := protobuf.PutBytes(s.head[:len(s.head):len(s.head)], 3, sig)
		b = protobuf.PutBytes(b, 2, protobuf.PutInt(m, 4, s.timestamp))
	}
	return append(b, s.unknown...)
}

// block returns the signature block of exactly size bytes. With an
// *ecdsa.PrivateKey the signature is deterministic (RFC 6979), so that the same
// input gives the same file.
func (s *signing) block(sums *sums) ([]byte, error) {
	var sig []byte
	if s.signer != nil {
		digest, random := sha256.Sum256(sums.message(s.timestamp)), io.Reader(rand.Reader)
		if _, ok := s.signer.(*ecdsa.PrivateKey); ok {
			random = nil
		}
		var err error
		if sig, err = s.signer.Sign(random, digest[:], crypto.SHA256); err != nil {
			return nil, fmt.Errorf("%w: %w", format.ErrSignature, err)
		}
	}
	b := s.encode(sums, sig)
	switch gap := s.size - int64(len(b)); {
	case gap == 0:
		return b, nil
	case gap < 2 || gap > 129:
		return nil, fmt.Errorf("%w: the signature has %d bytes, expected at most %d", format.ErrSignature, len(sig), s.longest)
	default:
		return protobuf.PutBytes(b, 15, make([]byte, gap-2)), nil
	}
}
