package wia

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// sums are the digests of the four things a signature block covers, in the
// order in which they are signed.
type sums [numSums][sha256.Size]byte

const (
	sumOfHeader = iota
	sumOfMetadata
	sumOfGraph
	sumOfTensors
	numSums
)

// sumNames are the values of block_type.
var sumNames = [numSums]string{"header", "metadata", "graph", "tensor"}

// signatures is the SignatureBlock message.
type signatures struct {
	sums      sums
	signature *signature // nil for checksums alone
	unknown   []byte
}

type signature struct {
	algorithm string
	publicKey []byte // PKIX DER, may be empty
	signature []byte
	timestamp int64
}

// read reads the block. The four digests are required, once each; those of other blocks are
// ignored.
func (g *signatures) read(s *protobuf.Source) error {
	var have [numSums]bool
	w := s.Walk(signatureBlockMsg, s.All(), 1)
	for w.Next() {
		switch {
		case w.Num == 1:
			w.Err = g.checksum(s, w.Field, &have)
		case w.Num == 2:
			w.Err = g.signer(s, w.Field)
		case w.Def == nil:
			w.Err = s.Keep(&g.unknown, &w.Field)
		}
	}
	for i, ok := range have {
		if w.Err == nil && !ok {
			return protobuf.InField("checksums", protobuf.Defectf(0, tensor.ErrCorrupt, "none for the %s", sumNames[i]))
		}
	}
	return w.Err
}

// checksum takes a BlockChecksum.
func (g *signatures) checksum(s *protobuf.Source, msg protobuf.Field, have *[numSums]bool) error {
	var block, sum []byte
	w := s.Walk(checksumMsg, msg, 2)
	for w.Next() {
		switch w.Num {
		case 1:
			block, w.Err = s.Bytes(w.Start, w.End)
		case 2:
			sum, w.Err = s.Bytes(w.Start, w.End)
		}
	}
	i := slices.Index(sumNames[:], string(block))
	switch {
	case w.Err != nil || i < 0:
		return w.Err
	case have[i]:
		return protobuf.InField("block_type", protobuf.Defectf(0, tensor.ErrCorrupt, "%q twice", block))
	case len(sum) != sha256.Size:
		return protobuf.InField("sha256", protobuf.Defectf(0, tensor.ErrCorrupt, "%d bytes", len(sum)))
	}
	have[i] = true
	copy(g.sums[i][:], sum)
	return nil
}

// signer takes a Signature.
func (g *signatures) signer(s *protobuf.Source, msg protobuf.Field) error {
	if g.signature == nil {
		g.signature = &signature{}
	}
	to, w := g.signature, s.Walk(signatureMsg, msg, 2)
	for w.Next() {
		switch w.Num {
		case 1:
			w.Err = s.Str(&to.algorithm, &w.Field)
		case 2:
			to.publicKey, w.Err = s.Bytes(w.Start, w.End)
		case 3:
			to.signature, w.Err = s.Bytes(w.Start, w.End)
		case 4:
			to.timestamp = int64(w.Val)
		}
	}
	return w.Err
}

// message returns what is signed: the four digests and the timestamp.
func (s *sums) message(timestamp int64) []byte {
	var out []byte
	for i := range s {
		out = append(out, s[i][:]...)
	}
	return binary.LittleEndian.AppendUint64(out, uint64(timestamp))
}

// signer returns who claims to have signed, nil for an unsigned file. PublicKey is nil when the file names no
// key, or none that can be read.
func (f *parsed) signer() *driver.Signature {
	if f.signature == nil || f.signature.signature == nil {
		return nil
	}
	s := f.signature.signature
	out := &driver.Signature{Algorithm: s.algorithm, Timestamp: s.timestamp}
	if key, err := x509.ParsePKIXPublicKey(s.publicKey); err == nil {
		out.PublicKey = key
	}
	return out
}

// checkSignature checks the signature with the trusted key, if there is one. The
// key in the file only says who claims to have signed.
func (f *parsed) checkSignature(v driver.Verification) error {
	s, trusted := f.signature.signature, v.Trusted()
	fail := func(text string, args ...any) error {
		return wire.Errorf(formatName, "signature", f.hdr.blocks[signatureBlock].off, format.ErrSignature, text, args...)
	}
	switch {
	case s == nil && trusted == nil:
		v.Signed(driver.Unsigned)
		return nil
	case s == nil:
		return fail("the file is not signed")
	case trusted == nil:
		v.Signed(driver.SignatureUnknown)
		return nil
	}
	if len(s.publicKey) > 0 {
		named, err := x509.ParsePKIXPublicKey(s.publicKey)
		if err != nil {
			return fail("public_key: %v", err)
		}
		if !keys.Equal(named, trusted) {
			return fail("signed by another key than the trusted one")
		}
	}
	digest := sha256.Sum256(f.sums.message(s.timestamp))
	if err := verifyDigest(trusted, s.algorithm, digest[:], s.signature); err != nil {
		return fail("%v", err)
	}
	v.Signed(driver.SignatureTrusted)
	return nil
}

// usable reports whether a public key is more than its type.
func usable(key crypto.PublicKey) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k != nil && k.N != nil
	case *ecdsa.PublicKey:
		return k != nil && k.Curve != nil && k.X != nil && k.Y != nil
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize
	}
	return true
}

// The values of Signature.algorithm.
const (
	algorithmRSA   = "RSA-SHA256"
	algorithmECDSA = "ECDSA"
)

// verifyDigest checks a signature over a SHA-256 digest.
func verifyDigest(key crypto.PublicKey, algorithm string, digest, sig []byte) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if algorithm != algorithmRSA {
			break
		}
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, digest, sig)
	case *ecdsa.PublicKey:
		if algorithm != algorithmECDSA || k.Curve != elliptic.P256() {
			break
		}
		if !ecdsa.VerifyASN1(k, digest, sig) {
			return errors.New("the ECDSA signature does not fit")
		}
		return nil
	}
	return fmt.Errorf("algorithm %q does not go with a trusted key of type %T", algorithm, key)
}
