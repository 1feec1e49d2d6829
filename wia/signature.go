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

// sums are the checksums of the blocks, in the order in which they are signed.
type sums [numSums][sha256.Size]byte

// signatures is the SignatureBlock message.
type signatures struct {
	sums    sums
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
		block, sum protobuf.Field
		into       [4]protobuf.Into
	}{}
	x.into = [...]protobuf.Into{{1: &x.into[1]}, {1: &x.block, &x.sum}, {2: &x.into[3]}, {1: &g.signer.Algorithm, &g.key, &g.value, &g.signer.Timestamp}}
	w := s.Walk(signatureBlockMsg, s.All(), 1)
	for w.Next() {
		switch {
		case w.Num == 1:
			x.block, x.sum = protobuf.Field{}, protobuf.Field{}
			if w.Store(&x.into[0]); w.Err == nil {
				w.Err = g.add(s.Win[x.block.Start:x.block.End], s.Win[x.sum.Start:x.sum.End])
			}
		case w.Num == 2:
			g.signed = true
			w.Store(&x.into[2])
		case w.Def == nil:
			w.Err = s.Keep(&g.unknown, &w.Field)
		}
	}
	if i := slices.Index(g.have[:], false); w.Err == nil && i >= 0 {
		return protobuf.InField("checksums", protobuf.Defectf(0, tensor.ErrCorrupt, "none for the %v", block(i)))
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
		return protobuf.InField("block_type", protobuf.Defectf(0, tensor.ErrCorrupt, "%q twice", name))
	case len(sum) != sha256.Size:
		return protobuf.InField("sha256", protobuf.Defectf(0, tensor.ErrCorrupt, "%d bytes", len(sum)))
	}
	g.have[i] = true
	copy(g.sums[i][:], sum)
	return nil
}

// message returns the signed message: the four digests and the timestamp.
func (s *sums) message(timestamp int64) []byte {
	var out []byte
	for _, sum := range s {
		out = append(out, sum[:]...)
	}
	return binary.LittleEndian.AppendUint64(out, uint64(timestamp))
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
	digest := sha256.Sum256(g.sums.message(g.signer.Timestamp))
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
