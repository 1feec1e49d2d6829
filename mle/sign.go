package mle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/wire"
)

// SignOptions are the options of Sign. Nil and the zero value work.
type SignOptions struct {
	Context context.Context // nil means never canceled
	Time    time.Time       // of signing; zero means now
	To      string          // the path of the signed file; "" replaces the file itself
}

// Sign signs the version 2 file at path and replaces an existing signature. It copies
// the stored sections byte for byte, without decompressing them. The signed file replaces
// the old one in one step, so that readers see either the old file or the new one, and
// open mappings stay valid. With SignOptions.To, Sign writes another file and leaves the
// old one unchanged.
//
// Encryption authenticates the feature flags, so an encrypted file that was not signed
// when it was written cannot be signed later: Sign fails with ErrUnsupported.
func Sign(path string, key ed25519.PrivateKey, o *SignOptions) error {
	o = cmp.Or(o, new(SignOptions))
	own := &driver.LayoutOptions{Context: cmp.Or(o.Context, context.Background()), Time: o.Time}
	return wire.Place(signFile(path, cmp.Or(o.To, path), key, own), "", path, "")
}

func signFile(path, to string, key ed25519.PrivateKey, o *driver.LayoutOptions) error {
	if len(key) != ed25519.PrivateKeySize {
		return fail("signer", -1, format.ErrKey, "%d bytes, a private key has %d", len(key), ed25519.PrivateKeySize)
	}
	m, err := Open(path, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	h, src := m.f.h, m.f.src
	switch {
	case h.Version == 1:
		return fail("version", atVersion, format.ErrUnsupported, "version 1 has no signatures; convert the file first")
	case h.Features.Has(Encryption) && !h.Features.Has(Signing):
		return h.fail("feature_flags", format.ErrUnsupported, "encryption authenticates the flags, so an encrypted file can only be signed when it is written")
	}
	f, err := disk.Create(to)
	if err != nil {
		return err
	}
	h.Features |= Signing
	err = target.NewInput(o.Context, io.NewSectionReader(src, 0, src.Size()), src.Size()).CopyTo(f, 0, nil)
	if err == nil {
		err = h.finish(f, src.Size(), bytes.Clone(m.f.head[:h.HeaderSize]), key, o)
	}
	if err != nil {
		f.Abort()
		return err
	}
	m.Close() // some systems cannot replace an open file
	return f.Publish()
}

// finish writes the header of a file that ends at end, except for a new signature, and signs
// the file if its flags say so. head has the reserved bytes.
func (h *Header) finish(t driver.Target, end int64, head []byte, key ed25519.PrivateKey, o *driver.LayoutOptions) error {
	if h.Features.Has(Signing) && h.Signature.Size == 0 {
		h.Signature = behind(Section{Size: end}, signatureSize)
		end = h.Signature.End()
	}
	h.put(head)
	if err := t.Truncate(end); err != nil {
		return err
	}
	if _, err := t.WriteAt(head, 0); err != nil || !h.Features.Has(Signing) {
		return err
	}
	all, s := sha256.New(), h.Signature
	for _, part := range []Section{{0, s.Offset}, {s.End(), end - s.End()}} {
		in := target.NewInput(o.Context, io.NewSectionReader(t, part.Offset, part.Size), part.Size)
		if _, err := io.Copy(all, in); err != nil {
			return err
		}
	}
	digest := all.Sum(nil)
	b := []byte{1, 1, 0, 0} // Ed25519, SHA-256, reserved
	b = binary.LittleEndian.AppendUint64(b, uint64(o.Signed()))
	b = append(b, key.Public().(ed25519.PublicKey)...)
	b = append(b, ed25519.Sign(key, digest)...)
	_, err := t.WriteAt(append(b, digest...), s.Offset)
	return err
}
