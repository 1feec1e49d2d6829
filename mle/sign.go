package mle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/save"
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
	opts := *cmp.Or(o, new(SignOptions))
	opts.Context = cmp.Or(opts.Context, context.Background())
	if opts.Time.IsZero() {
		opts.Time = time.Now()
	}
	return wire.InFile(signFile(path, key, &opts), path)
}

func signFile(path string, key ed25519.PrivateKey, o *SignOptions) error {
	if len(key) != ed25519.PrivateKeySize {
		return fail("signer", -1, format.ErrKey, "%d bytes, a private key has %d", len(key), ed25519.PrivateKeySize)
	}
	src, err := os.Open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	m, err := OpenFile(src, 0, -1, nil)
	if err != nil {
		return err
	}
	h, head, size := m.f.h, bytes.Clone(m.f.head[:m.f.h.HeaderSize]), m.f.src.Size()
	m.Close()
	if h.Version == 1 {
		return fail("version", atVersion, format.ErrUnsupported, "version 1 has no signatures; convert the file first")
	}
	if h.Features.Has(Encryption) && !h.Features.Has(Signing) {
		return h.fail("feature_flags", format.ErrUnsupported, "encryption authenticates the flags, so an encrypted file can only be signed when it is written")
	}
	f, err := save.CreateFile(cmp.Or(o.To, path))
	if err != nil {
		return err
	}
	end := size
	if h.Signature.Size == 0 {
		h.Signature = behind(Section{Size: size}, signatureSize)
		end = h.Signature.End()
	}
	h.Features |= Signing
	h.put(head)
	err = save.NewInput(o.Context, src, size, nil).CopyTo(f, 0, nil)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.WriteAt(head, 0)
	}
	if err == nil {
		err = sign(o.Context, f, h.Signature, end, key, o.Time.Unix())
	}
	if err != nil {
		f.Abort()
		return err
	}
	src.Close() // some systems cannot replace an open file
	return f.Commit(true)
}

// sign hashes a file that is complete except for its signature section, and writes the
// section.
func sign(ctx context.Context, t driver.Target, s Section, end int64, key ed25519.PrivateKey, unix int64) error {
	h := sha256.New()
	for _, part := range []Section{{0, s.Offset}, {s.End(), end - s.End()}} {
		in := save.NewInput(ctx, io.NewSectionReader(t, part.Offset, part.Size), part.Size, nil)
		if _, err := io.Copy(h, in); err != nil {
			return err
		}
	}
	digest := h.Sum(nil)
	b := make([]byte, 0, signatureSize)
	b = append(b, 1, 1, 0, 0) // Ed25519, SHA-256, reserved
	b = binary.LittleEndian.AppendUint64(b, uint64(unix))
	b = append(b, key.Public().(ed25519.PublicKey)...)
	b = append(b, ed25519.Sign(key, digest)...)
	b = append(b, digest...)
	_, err := t.WriteAt(b, s.Offset)
	return err
}
