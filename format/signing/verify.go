package signing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
)

// Report describes a verified signature.
type Report struct {
	Method Method
	Signer string // fingerprint of the key (SHA-256 of its PKIX form), or subject of the certificate
	Name   string // name of the model when it was signed; "" in version 0.2
	Digest string // root digest in hex
	Files  []File // sorted by name

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
	p := &Policy{Trust: t, Root: root, Options: opts}
	return p.check(ctx, b, "", nil)
}

// verified verifies the signature but no file.
func (p *Bundle) verified(ctx context.Context, t *Trust) (*Report, error) {
	var s *statement
	who, err := p.authenticate(ctx, cmp.Or(t, &Trust{}))
	if err == nil {
		s, err = parseStatement(p.payload)
	}
	if err != nil {
		return nil, wire.Explain(err, "", p.Path)
	}
	r := &Report{Method: p.method, Signer: who, Name: s.name, Digest: hex.EncodeToString(s.root[:]), said: s}
	for _, name := range s.names() {
		file := File{Name: name}
		if s.shard == 0 {
			file.SHA256 = hex.EncodeToString(s.files[name][0].sum[:])
		}
		r.Files = append(r.Files, file)
	}
	return r, nil
}

// check verifies the signature b and compares all files of the model at a path with the signed ones. It hashes files
// that the model m has open through their open handles. If only m says what the model is, it checks only these.
func (p *Policy) check(ctx context.Context, b *Bundle, model string, m *load.OpenModel) (*Report, error) {
	o, err := p.Options.checked()
	if err != nil {
		return nil, err
	}
	r, err := b.verified(ctx, p.Trust)
	if err != nil {
		return nil, err
	}
	root := p.rootOf(r, b.Path, model)
	var t *tree
	if root != "" || m == nil {
		if t, err = openTree(root, r.said.links, slices.Concat(r.said.ignore, o.Ignore), b.Path); err != nil {
			return nil, err
		}
		defer t.close()
	}
	jobs, err := r.said.match(r.opened(m, root), t, &o)
	if err != nil {
		return nil, err
	}
	err = run(ctx, jobs, &o, func(j job, d digest) error {
		if d == j.part.sum {
			return nil
		}
		return refuse(j.file.path, driver.ErrSignature, "%w: it is not the file that was signed: bytes %d to %d differ",
			driver.ErrChecksum, j.part.from, j.part.to)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// opened returns the files that the model m has open, if it is not nil, with their names relative to root.
func (r *Report) opened(m *load.OpenModel, root string) (files []file) {
	if m == nil {
		return nil
	}
	for _, f := range m.Files() {
		feed := func(w io.Writer, off, size int64) error { return m.Feed(w, &f, off, size) }
		files = append(files, file{r.nameOf(root, f.Path), f.Path, f.Size, true, feed})
	}
	return files
}

// nameOf returns the name of the file at path relative to the root, or "" if it is not below the
// root. A file without a path matches only a model of one file.
func (r *Report) nameOf(root, path string) string {
	name, ok := below(root, path)
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

// bundleName is the default name of a directory's bundle.
const bundleName = "model.sig"

// Policy requires a valid signature for opening a model. Set it as Trusted in format.Options or
// live.Options. Each open reads the bundle and hashes all files that it lists: those that the model
// has open through the bytes that were parsed and mapped, the others from disk. The zero Policy
// trusts no signer.
type Policy struct {
	// Trust holds the trusted signers.
	Trust *Trust
	// Bundle is the path of the bundle. If empty, the bundle of a directory DIR is DIR/model.sig or
	// else DIR.sig; the bundle of a file FILE is FILE.sig or else model.sig in the same directory.
	Bundle string
	// Root is the directory or file that was signed. If empty, it is the model itself. For a model
	// file whose bundle is model.sig in the same directory, or lists more than one file, it is that
	// directory.
	Root string
	// Options controls how the files are listed and hashed.
	Options *Options
}

var _ load.FileTrust = (*Policy)(nil)

// BundlePaths returns the possible paths of a model's bundle. Package live watches these files.
func (p *Policy) BundlePaths(model string) []string {
	switch {
	case p == nil:
		return nil
	case p.Bundle != "":
		return []string{p.Bundle}
	case model == "":
		return nil
	}
	model = filepath.Clean(model)
	if info, err := os.Stat(model); err == nil && info.IsDir() {
		return []string{filepath.Join(model, bundleName), model + ".sig"}
	}
	return []string{model + ".sig", filepath.Join(filepath.Dir(model), bundleName)}
}

// CheckFiles checks the files of the model m, and the other signed files under its root. Opening a model calls it.
func (p *Policy) CheckFiles(ctx context.Context, path string, m *load.OpenModel) error {
	p = cmp.Or(p, &Policy{})
	b, err := p.read(path)
	if err != nil {
		return err
	}
	_, err = p.check(ctx, b, path, m)
	return err
}

// read reads the first bundle that exists.
func (p *Policy) read(model string) (b *Bundle, err error) {
	err = os.ErrNotExist
	for _, path := range p.BundlePaths(model) {
		if b, err = Read(path); err == nil || !os.IsNotExist(err) {
			return b, err
		}
	}
	return nil, refuse(model, driver.ErrSignature, "there is no signature: %w", err)
}

// rootOf returns the path of what the bundle at a path signs, or "" for a model without files.
func (p *Policy) rootOf(r *Report, bundle, model string) string {
	if p.Root != "" || model == "" {
		return p.Root
	}
	info, err := os.Stat(model)
	isDir := err == nil && info.IsDir()
	dir := filepath.Dir(model)
	ofDir := len(r.Files) > 1 || r.Files[0].Name != filepath.Base(model) ||
		filepath.Clean(bundle) == filepath.Join(dir, bundleName)
	if isDir || r.said.single() || !ofDir {
		return model
	}
	return dir
}

// job is a range of a file to hash.
type job struct {
	part *part
	file *file
}

// match returns jobs for files that the model has open, and for those of a tree, if any, that it has not. The statement
// must list all of them; the tree must have all that it lists.
func (s *statement) match(files []file, t *tree, o *Options) (jobs []job, err error) {
	if t != nil {
		if s.single() && t.root != nil {
			return nil, refuse(t.path, driver.ErrSignature, "it is a directory, and the signature is of one file")
		}
		files = append(files, t.files...)
	}
	for i := range files {
		f := &files[i]
		list := s.find(f.name)
		if len(list) == 0 {
			if !f.opened && (o.AllowUnsigned || s.shard > 0 && f.size == 0) {
				continue
			}
			return nil, refuse(f.path, driver.ErrSignature, "the signature does not list it")
		}
		first, last := &list[0], &list[len(list)-1]
		first.there = !f.opened
		if first.opened && first.there {
			continue
		}
		first.opened = f.opened
		if last.to < 0 {
			last.to = f.size
		}
		if last.to != f.size {
			return nil, refuse(f.path, driver.ErrSignature, "%w: it has %d bytes, and %d are signed", driver.ErrChecksum, f.size, last.to)
		}
		for i := range list {
			jobs = append(jobs, job{&list[i], f})
		}
	}
	for _, name := range s.names() {
		if t != nil && !s.files[name][0].there {
			return nil, refuse(t.full(name), driver.ErrSignature, "%w: it is signed and missing, or left out", fs.ErrNotExist)
		}
	}
	return jobs, nil
}

// run runs the jobs in parallel, the largest first, and calls done with each digest.
func run(ctx context.Context, jobs []job, o *Options, done func(j job, d digest) error) error {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.part.size(), a.part.size()) })
	p := &work.Progress{Report: o.Progress}
	for _, j := range jobs {
		p.Expect(j.part.size())
	}
	return work.Each(ctx, len(jobs), o.Workers, func(i int) error {
		j, h := jobs[i], sha256.New()
		write := writer(func(b []byte) (int, error) {
			p.Done(int64(len(b)), j.file.path)
			h.Write(b)
			return len(b), ctx.Err()
		})
		if err := j.file.feed(write, j.part.from, j.part.size()); err != nil {
			return err
		}
		return done(j, digest(h.Sum(nil)))
	})
}

// writer makes an io.Writer of a function.
type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
