package mle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
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
//
// The example reads a key in PEM form, as "openssl genpkey -algorithm ed25519" makes it: a function
// here would link package crypto/x509, 0.8 MB, into every program that reads MLE.
func Sign(path string, key ed25519.PrivateKey, o *SignOptions) error {
	o = cmp.Or(o, new(SignOptions))
	own := &driver.LayoutOptions{Context: cmp.Or(o.Context, context.Background()), Time: o.Time}
	return wire.Place(signFile(path, cmp.Or(o.To, path), key, own), "", path, "")
}

func signFile(path, to string, key ed25519.PrivateKey, o *driver.LayoutOptions) error {
	if len(key) != ed25519.PrivateKeySize {
		return errorf("signer", -1, format.ErrKey, "%d bytes, a private key has %d", len(key),
			ed25519.PrivateKeySize)
	}
	m, err := Open(path, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	h := m.f.h
	src := m.f.src
	switch {
	case h.Version == 1:
		return m.f.headerErrorf("version", format.ErrUnsupported,
			"version 1 has no signatures; convert the file first")
	case h.Features.Has(Encryption) && !h.Features.Has(Signing):
		return m.f.headerErrorf("feature_flags", format.ErrUnsupported,
			"encryption authenticates the flags, so an encrypted file can only be signed when it is written")
	}
	f, err := disk.Create(to)
	if err != nil {
		return err
	}
	h.Features |= Signing
	in := target.NewInput(o.Context, io.NewSectionReader(src, 0, src.Size()), src.Size())
	err = in.CopyTo(f, 0, nil)
	if err != nil {
		f.Abort()
		return err
	}
	err = h.finish(f, src.Size(), bytes.Clone(m.f.head[:h.HeaderSize]), key, o)
	if err != nil {
		f.Abort()
		return err
	}
	m.Close() // some systems cannot replace an open file
	return f.Publish()
}

// finish writes the header of a file that ends at end, except for a new signature, and signs
// the file if its flags say so. head has the reserved bytes.
func (h *Header) finish(t driver.Target, end int64, head []byte, key ed25519.PrivateKey,
	o *driver.LayoutOptions) error {
	if h.Features.Has(Signing) && h.Signature.Size == 0 {
		h.Signature = behind(Section{Size: end}, signatureSize)
		end = h.Signature.End()
	}
	h.put(head)
	err := t.Truncate(end)
	if err != nil {
		return err
	}
	_, err = t.WriteAt(head, 0)
	if err != nil {
		return err
	}
	if !h.Features.Has(Signing) {
		return nil
	}
	all := sha256.New()
	s := h.Signature
	for _, part := range []Section{{0, s.Offset}, {s.End(), end - s.End()}} {
		in := target.NewInput(o.Context, io.NewSectionReader(t, part.Offset, part.Size), part.Size)
		_, err := io.Copy(all, in)
		if err != nil {
			return err
		}
	}
	digest := all.Sum(nil)
	var w wire.Buffer
	w.U8(1)                                 // algorithm: Ed25519
	w.U8(1)                                 // hash_algorithm: SHA-256
	w.U16(0)                                // reserved
	w.I64(o.Signed())                       // timestamp
	w.Raw(key.Public().(ed25519.PublicKey)) // public_key
	w.Raw(ed25519.Sign(key, digest))        // signature
	w.Raw(digest)                           // model_hash
	_, err = t.WriteAt(w, s.Offset)
	return err
}
