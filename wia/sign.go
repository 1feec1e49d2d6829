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
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/protobuf"
)

// PrivateKey reads a PKCS #8 private key in PEM form, as "openssl genpkey" makes
// them, for WriteOptions.Signer.
func PrivateKey(pem []byte) (crypto.Signer, error) { return keys.ParsePrivate(pem) }

// PublicKey reads a PKIX public key in PEM form, for format.WithTrustedKey.
func PublicKey(pem []byte) (crypto.PublicKey, error) { return keys.ParsePublic(pem) }

// signing makes the signature block of a file being written. Its size is
// stated in the header, which is signed: so it must be known before.
type signing struct {
	signer    crypto.Signer // nil for checksums alone
	algorithm string
	public    []byte
	longest   int   // signature
	timestamp int64 // Unix seconds
	size      int64 // of the block
	unknown   []byte
}

// newSigning checks the key. unknown are fields that the block gets besides.
func newSigning(signer crypto.Signer, at int64, unknown []byte) (*signing, error) {
	s := &signing{signer: signer, timestamp: at, unknown: unknown}
	slack := 0
	public, ok := publicOf(signer)
	if !ok {
		return nil, fmt.Errorf("%w: the signer is a %T without a key in it", format.ErrKey, signer)
	}
	switch key := public.(type) {
	case nil:
	case *rsa.PublicKey:
		s.algorithm, s.longest = algorithmRSA, key.Size()
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return nil, fmt.Errorf("%w: an ECDSA key must be on P-256", format.ErrKey)
		}
		// The length of an ECDSA signature varies. A padding field fills up what
		// it leaves, and takes two bytes at least.
		s.algorithm, s.longest, slack = algorithmECDSA, longestECDSA, 2
	default:
		return nil, fmt.Errorf("%w: %T does not sign this format", format.ErrKey, key)
	}
	if s.signer != nil {
		var err error
		if s.public, err = x509.MarshalPKIXPublicKey(public); err != nil {
			return nil, fmt.Errorf("%w: %w", format.ErrKey, err)
		}
	}
	s.size = int64(len(s.encode(&sums{}, make([]byte, s.longest))) + slack)
	return s, nil
}

// longestECDSA is the size of two 33-byte integers in ASN.1.
const longestECDSA = 2 + 2*(2+33)

// publicOf returns the public key of a signer, nil for none. ok is false when the signer
// is more of a type than of a key.
func publicOf(s crypto.Signer) (key crypto.PublicKey, ok bool) {
	switch k := s.(type) {
	case nil:
		return nil, true
	case *rsa.PrivateKey:
		ok = k != nil && k.N != nil && k.D != nil
	case *ecdsa.PrivateKey:
		ok = k != nil && k.D != nil
	case ed25519.PrivateKey:
		ok = len(k) == ed25519.PrivateKeySize
	default:
		ok = true
	}
	if ok {
		key = s.Public()
	}
	return key, ok && usable(key)
}

// encode returns the SignatureBlock without padding.
func (s *signing) encode(sums *sums, sig []byte) (b []byte) {
	for i, name := range sumNames {
		b = protobuf.PutBytes(b, 1, protobuf.PutBytes(protobuf.PutText(nil, 1, name), 2, sums[i][:]))
	}
	if s.signer != nil {
		m := protobuf.PutBytes(protobuf.PutText(nil, 1, s.algorithm), 2, s.public)
		b = protobuf.PutBytes(b, 2, protobuf.PutInt(protobuf.PutBytes(m, 3, sig), 4, s.timestamp))
	}
	return append(b, s.unknown...)
}

// block returns the signature block, exactly size bytes.
func (s *signing) block(sums *sums) ([]byte, error) {
	var sig []byte
	if s.signer != nil {
		digest := sha256.Sum256(sums.message(s.timestamp))
		var err error
		if sig, err = s.sign(digest[:]); err != nil {
			return nil, fmt.Errorf("%w: %w", format.ErrSignature, err)
		}
	}
	b := s.encode(sums, sig)
	switch gap := s.size - int64(len(b)); {
	case gap == 0:
		return b, nil
	case gap < 2 || gap > 129:
		return nil, fmt.Errorf("%w: a signature of %d bytes where %d were announced", format.ErrSignature, len(sig), s.longest)
	default:
		return protobuf.PutBytes(b, 15, make([]byte, gap-2)), nil
	}
}

// sign signs a digest. With an ECDSA key in memory it is deterministic (RFC
// 6979), so that the same input gives the same file.
func (s *signing) sign(digest []byte) ([]byte, error) {
	random := io.Reader(rand.Reader)
	if _, ok := s.signer.(*ecdsa.PrivateKey); ok {
		random = nil
	}
	return s.signer.Sign(random, digest, crypto.SHA256)
}

// sumsOf returns the four digests.
func sumsOf(header, meta, graph []byte, tensors [sha256.Size]byte) *sums {
	return &sums{sha256.Sum256(header), sha256.Sum256(meta), sha256.Sum256(graph), tensors}
}
