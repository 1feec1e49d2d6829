package load

import (
	"context"
	"crypto"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// authenticate checks that the file is signed by the trusted key, and that its structure is as it was parsed.
func (m *Model) authenticate(o *driver.Options) error {
	v := newVerification(m, o.Context, &VerifyOptions{Trusted: o.Trusted, Progress: o.Progress, Workers: o.Workers})
	v.changed = driver.ErrSignature
	if t, ok := o.Trusted.(FileTrust); ok {
		if err := m.spaces.openAll(); err != nil {
			return err
		}
		return t.CheckFiles(v.ctx, m.Path(), &OpenModel{v})
	}
	if err := m.checkTrusted(o.Trusted); err != nil {
		return err
	}
	return m.guard(func() error { return m.parsed.Authenticate(v) })
}

// checkTrusted returns an error if key is not a public key, or if the format has no signatures.
// All public keys of package crypto have this Equal method; private keys do not. The format
// checks the type of key.
func (m *Model) checkTrusted(key crypto.PublicKey) error {
	if _, public := key.(interface{ Equal(crypto.PublicKey) bool }); !public {
		sentinel := fmt.Errorf("%w: %w", driver.ErrKey, driver.ErrSignature)
		return m.explain(wire.Errorf("", "signature", -1, sentinel, "the trusted key is no public key, but a %T", key))
	}
	if m.parsed.Authenticate == nil {
		return m.explain(wire.Errorf("", "signature", -1, driver.ErrSignature, "the format has no signatures"))
	}
	return nil
}

// FileTrust may be used for Config.Trusted in place of a public key. It accepts or rejects models of any format by
// the bytes of all their files.
type FileTrust interface {
	// CheckFiles checks the model at path, or "". If it returns no error, the model is exactly the bytes that it has read.
	CheckFiles(ctx context.Context, path string, m *OpenModel) error
}

// OpenModel is a model that is being opened.
type OpenModel struct{ v *verification }

// OpenFile is a file of an OpenModel.
type OpenFile struct {
	Path  string // "" for bytes and readers
	Size  int64
	space driver.Space
}

// Files returns all existing files of the model.
func (o *OpenModel) Files() (files []OpenFile) {
	m := o.v.m
	if !m.isDir {
		files = append(files, OpenFile{Path: m.Path(), Size: m.main.Size()})
	}
	for _, f := range m.spaces.files[1:] {
		if r := f.region.Load(); r != nil {
			files = append(files, OpenFile{f.path(), r.Size(), f.number})
		}
	}
	return files
}

// Feed writes size bytes at off of a file to w. It fails if the file has changed since it was parsed. It is safe for
// concurrent use.
func (o *OpenModel) Feed(w io.Writer, f *OpenFile, off, size int64) error {
	return o.v.m.guard(func() error { return o.v.Feed(w, f.space, off, size, "") })
}
