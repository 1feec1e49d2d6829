package signing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Report describes a verified signature.
type Report struct {
	Method Method // how the signer is identified
	Signer string // fingerprint of the key (SHA-256 of its PKIX form), or subject of the certificate
	Name   string // name of the model when it was signed; "" in version 0.2
	Digest string // root digest in hex
	Files  []File // sorted by name
	// Certificate is that of the signer, nil for the method key. Its validity began when the signer
	// got it.
	Certificate *x509.Certificate

	said *statement
}

// File is a signed file.
type File struct {
	Name   string // relative to the directory of the model
	SHA256 string // in hex; "" if the file is signed in ranges
}

// Verify checks that the model at root, a directory or one file, is exactly what a trusted signer
// signed. Errors about a file name it and wrap ErrSignature, whether it is missing, not signed or
// different; they also wrap fs.ErrNotExist if it is missing and ErrChecksum if it is different. An
// invalid signature, or one by a signer that is not trusted, is ErrSignature. A malformed bundle is
// ErrCorrupt, ErrUnsupported or ErrLimit.
func Verify(ctx context.Context, b *Bundle, root string, t *Trust, opts *Options) (*Report, error) {
	o, err := opts.checked()
	if err != nil {
		return nil, err
	}
	r, err := b.verified(ctx, t)
	if err != nil {
		return nil, err
	}
	tree, err := openTree(root, r.said.links, slices.Concat(r.said.ignore, o.Ignore), b.Path)
	if err != nil {
		return nil, err
	}
	defer tree.close()
	jobs, err := r.said.match(tree, &o)
	if err != nil {
		return nil, err
	}
	err = run(ctx, jobs, &o, func(j job, d digest) error {
		if d == j.part.sum {
			return nil
		}
		return refuse(j.file.path, tensor.ErrSignature, "%w: it is not the file that was signed: bytes %d to %d differ",
			tensor.ErrChecksum, j.part.from, j.part.to)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// verified verifies the signature but no file.
func (p *Bundle) verified(ctx context.Context, t *Trust) (*Report, error) {
	t = cmp.Or(t, &Trust{})
	who, err := p.authenticate(ctx, t)
	if err != nil {
		return nil, wire.Place(err, "", p.Path, "")
	}
	s, err := parseStatement(p.payload)
	if err != nil {
		return nil, wire.Place(err, "", p.Path, "")
	}
	r := &Report{Method: p.method, Signer: who, Name: s.name, Digest: hex.EncodeToString(s.root[:]), said: s}
	if len(p.chain) > 0 {
		r.Certificate = p.chain[0]
	}
	for _, name := range s.names() {
		file := File{Name: name}
		if s.shard == 0 {
			file.SHA256 = hex.EncodeToString(s.files[name][0].sum[:])
		}
		r.Files = append(r.Files, file)
	}
	if t.Accept != nil {
		if err := t.Accept(r); err != nil {
			return nil, refuse(p.Path, tensor.ErrSignature, "Trust.Accept: %w", err)
		}
	}
	return r, nil
}

// below returns the slash-separated name of path relative to root, and whether path is root or
// below it.
func below(root, path string) (name string, ok bool) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return "", false
	}
	name, err = filepath.Rel(root, path)
	if err != nil {
		return "", false
	}
	return filepath.ToSlash(name), filepath.IsLocal(name)
}

// job is a range of a file to hash.
type job struct {
	part *part
	file *file
}

// match returns jobs for the files of a tree. The statement must list all of them, and the tree
// must have all that it lists.
func (s *statement) match(t *tree, o *Options) (jobs []job, err error) {
	if s.single() && t.root != nil {
		return nil, refuse(t.path, tensor.ErrSignature, "it is a directory, and the signature is of one file")
	}
	for i := range t.files {
		f := &t.files[i]
		list := s.find(f.name)
		if len(list) == 0 {
			if o.AllowUnsigned || s.shard > 0 && f.size == 0 {
				continue
			}
			return nil, refuse(f.path, tensor.ErrSignature, "the signature does not list it")
		}
		list[0].there = true
		last := &list[len(list)-1]
		if last.to < 0 {
			last.to = f.size
		}
		if last.to != f.size {
			return nil, refuse(f.path, tensor.ErrSignature, "%w: it has %d bytes, and %d are signed", tensor.ErrChecksum, f.size, last.to)
		}
		for i := range list {
			jobs = append(jobs, job{&list[i], f})
		}
	}
	for _, name := range s.names() {
		if !s.files[name][0].there {
			return nil, refuse(t.full(name), tensor.ErrSignature, "%w: it is signed and missing, or left out", fs.ErrNotExist)
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
		j := jobs[i]
		h := sha256.New()
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
