package wia

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// sums are the digests of the four things a signature block covers, in the
// order in which they are signed: header, metadata, graph, tensor.
type sums [numSums][sha256.Size]byte

const numSums = 4

// sumNames are the values of block_type.
var sumNames = [numSums]string{"header", "metadata", "graph", "tensor"}

// signatures is what a signature block says, in memory of its own.
type signatures struct {
	sums      sums
	signed    bool
	algorithm string
	publicKey []byte // PKIX DER, may be empty
	signature []byte
	timestamp int64
}

// loadSignatures reads the signature block: the four checksums are required,
// once each.
func (l *loader) loadSignatures() (*signatures, error) {
	p, err := l.load(signatureBlock, 0)
	if err != nil {
		return nil, err
	}
	s := &signatures{}
	if err = p.check(signatureBlockMsg, 0, p.size, 1); err == nil {
		err = s.read(&p.source)
	}
	return s, p.locate("signature", err)
}

// read takes a signature block whose wire rules have been checked.
func (s *signatures) read(src *source) error {
	var have [numSums]bool
	err := src.each(signatureBlockMsg, field{end: src.size}, func(f field) error {
		switch f.num {
		case 1:
			return s.checksum(src, &f, &have)
		case 2:
			s.signed = true
			return s.signer(src, &f)
		}
		return nil
	})
	for i, ok := range have {
		if err == nil && !ok {
			err = under("checksums", flawed(0, tensor.ErrCorrupt, "none for the %s", sumNames[i]))
		}
	}
	return err
}

// checksum takes one BlockChecksum; those of other blocks than ours are ignored.
func (s *signatures) checksum(src *source, msg *field, have *[numSums]bool) error {
	var name, sum []byte
	err := src.each(checksumMsg, *msg, func(f field) (err error) {
		switch f.num {
		case 1:
			name, err = src.bytes(f.start, f.end)
		case 2:
			sum, err = src.bytes(f.start, f.end)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range sumNames {
		if string(name) != sumNames[i] {
			continue
		}
		if have[i] {
			return under("block_type", flawed(msg.at, tensor.ErrCorrupt, "%q twice", name))
		}
		if len(sum) != sha256.Size {
			return under("sha256", flawed(msg.at, tensor.ErrCorrupt, "%d bytes", len(sum)))
		}
		have[i] = true
		copy(s.sums[i][:], sum)
	}
	return nil
}

// signer merges the Signature message.
func (s *signatures) signer(src *source, msg *field) error {
	return src.each(signatureMsg, *msg, func(f field) error {
		if f.num == 4 {
			s.timestamp = int64(f.val)
		}
		if f.num > 3 {
			return nil
		}
		b, err := src.bytes(f.start, f.end)
		switch f.num {
		case 1:
			s.algorithm = string(b)
		case 2:
			s.publicKey = append([]byte(nil), b...)
		case 3:
			s.signature = append([]byte(nil), b...)
		}
		return err
	})
}

// message returns what is signed: the four digests and the timestamp.
func (s *signatures) message() []byte {
	var out []byte
	for i := range s.sums {
		out = append(out, s.sums[i][:]...)
	}
	return binary.LittleEndian.AppendUint64(out, uint64(s.timestamp))
}

// Signature returns what the file says of its signer, nil for an unsigned file.
// PublicKey is nil when the file names no key, or none that can be read.
func (f *File) Signature() *format.Signature {
	s := f.signature
	if s == nil || !s.signed {
		return nil
	}
	out := &format.Signature{Algorithm: s.algorithm, Timestamp: s.timestamp}
	if key, err := x509.ParsePKIXPublicKey(s.publicKey); err == nil {
		out.PublicKey = key
	}
	return out
}
