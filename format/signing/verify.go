package signing

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/internal/wire"
)

// Report describes a verified signature.
type Report struct {
	Method Method
	Signer string // fingerprint of the key (SHA-256 of its PKIX form), or subject of the certificate
	Name   string // name of the model when it was signed; "" in version 0.2
	Digest string // root digest in hex
	Files  []File // sorted by name

	root string // path of the model
	said *statement
}

// File is a signed file.
type File struct {
	Name   string
	SHA256 string // in hex; "" if the file is signed in ranges
}

// Verify checks that the model at root, a directory or one file, is exactly what a trusted signer
// signed. Errors about a file name it and wrap ErrSignature, whether it is missing, not signed or
// different; they also wrap fs.ErrNotExist if it is missing and ErrChecksum if it is different. An
// invalid signature, or one by a signer that is not trusted, is ErrSignature. A malformed bundle is
// ErrCorrupt, ErrUnsupported or ErrLimit.
func Verify(ctx context.Context, b *Bundle, root string, t *Trust, opts *Options) (*Report, error) {
	return b.check(ctx, t, opts, func(*Report) string { return root }, nil)
}

// verified verifies the signature but no file.
func (p *Bundle) verified(ctx context.Context, t *Trust) (*Report, error) {
	s, invalid := parseStatement(p.payload)
	who, err := p.authenticate(ctx, cmp.Or(t, &Trust{}), s.old)
	if err = cmp.Or(err, invalid); err != nil {
		return nil, wire.Explain(err, "", p.Path)
	}
	r := &Report{Method: p.method, Signer: who, Name: s.name, Digest: hex.EncodeToString(s.root[:]), said: s}
	for _, p := range s.parts {
		if p.from > 0 {
			continue
		}
		file := File{Name: p.file}
		if s.shard == 0 {
			file.SHA256 = hex.EncodeToString(p.sum[:])
		}
		r.Files = append(r.Files, file)
	}
	return r, nil
}

// check verifies the signature and compares all files of the model with the signed ones. It hashes files that the model
// open has open through their open handles. Without a root it checks only these.
func (p *Bundle) check(ctx context.Context, t *Trust, opts *Options, root func(*Report) string, open *load.OpenModel) (*Report, error) {
	o, err := opts.checked()
	if err != nil {
		return nil, err
	}
	r, err := p.verified(ctx, t)
	if err != nil {
		return nil, err
	}
	r.root = root(r)
	jobs, err := r.said.match(nil, r.opened(open), &o)
	if err == nil && r.root != "" {
		var t *tree
		t, err = openTree(r.root, r.said.links, slices.Concat(r.said.ignore, o.Ignore), p.Path)
		if err == nil {
			defer t.close()
			jobs, err = r.said.matchAll(jobs, t, &o)
		}
	}
	if err != nil {
		return nil, err
	}
	err = run(ctx, jobs, &o, func(j job, d digest) error {
		if d == j.part.sum {
			return nil
		}
		return different(j.file.path, "it is not the file that was signed: bytes %d to %d differ", j.part.from, j.part.to)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// different returns the error for a file that differs from the signed one.
func different(path, text string, args ...any) error {
	return refuse(path, driver.ErrSignature, "%w: %w", driver.ErrChecksum, fmt.Errorf(text, args...))
}

// opened returns the files that the model m has open, if it is not nil.
func (r *Report) opened(m *load.OpenModel) (files []file) {
	if m == nil {
		return nil
	}
	for _, f := range m.Files() {
		feed := func(w io.Writer, off, size int64) error { return m.Feed(w, &f, off, size) }
		files = append(files, file{r.nameOf(f.Path), f.Path, f.Size, true, feed})
	}
	return files
}

// nameOf returns the name of the file at path relative to the root, or "" if it is not below the
// root. A file without a path matches only a model of one file.
func (r *Report) nameOf(path string) string {
	name, ok := below(r.root, path)
	switch {
	case path == "" && len(r.Files) == 1:
		return r.Files[0].Name
	case path == "" || !ok:
		return ""
	case name == ".":
		return filepath.Base(path)
	}
	return name
}

// below returns the slash-separated name of path relative to root, and whether path is root or below
// it.
func below(root, path string) (name string, ok bool) {
	root, err1 := filepath.Abs(root)
	path, err2 := filepath.Abs(path)
	name, err := filepath.Rel(root, path)
	return filepath.ToSlash(name), errors.Join(err1, err2, err) == nil && filepath.IsLocal(name)
}
