package signing

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/tensor"
)

// Report describes a verified signature.
type Report struct {
	Method Method
	Signer string    // fingerprint of the key (SHA-256 of its PKIX form), or subject of the certificate
	Time   time.Time // from a timestamp; zero if there is none
	Name   string    // name of the model when it was signed; "" in version 0.2
	Digest string    // root digest in hex
	Files  []File    // sorted by name

	root   string // path of the model
	bundle string // path of the bundle, or ""
	said   *statement
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
	o, err := opts.checked()
	if err != nil {
		return nil, err
	}
	r, err := b.verified(ctx, t)
	if err != nil {
		return nil, err
	}
	r.root = root
	if err := r.check(ctx, &o, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// verified verifies the signature but no file.
func (p *Bundle) verified(ctx context.Context, t *Trust) (*Report, error) {
	s, who, err := p.authenticate(ctx, t)
	if err != nil {
		return nil, at(p.Path, err)
	}
	r := &Report{Method: p.method, Signer: who.name, Time: who.time, Name: s.name, Digest: hex.EncodeToString(s.root[:]), bundle: p.Path, said: s}
	for _, f := range s.files {
		file := File{Name: f.name}
		if s.shard == 0 {
			file.SHA256 = hex.EncodeToString(f.sums[0][:])
		}
		r.Files = append(r.Files, file)
	}
	return r, nil
}

// check compares all files of the model with the signed ones. It hashes files that the model open
// has open through their open handles.
func (r *Report) check(ctx context.Context, o *Options, open *load.OpenModel) error {
	t, err := openTree(r.root, r.said.links, slices.Concat(r.said.ignore, o.Ignore), r.bundle)
	if err != nil {
		return err
	}
	defer t.close()
	if r.single() && t.root != nil {
		return t.refuse("", driver.ErrSignature, "it is a directory, and the signature is of one file")
	}
	if err := r.compareLists(t, o); err != nil {
		return err
	}
	var jobs []job
	isOpen, err := r.opened(&jobs, open)
	if err != nil {
		return err
	}
	for i := range t.files {
		f := &t.files[i]
		k, ok := r.find(f.name)
		if !ok || isOpen[k] {
			continue
		}
		if err := r.addJobs(&jobs, k, t.full(f.name), f.info.Size()); err != nil {
			return err
		}
		feed := t.feed(f)
		for n := len(jobs) - 1; n >= 0 && jobs[n].feed == nil; n-- {
			jobs[n].feed = feed
		}
	}
	return r.hash(ctx, jobs, o)
}

// single reports whether the signature can only cover one file.
func (r *Report) single() bool { return r.said.files[0].name == "." }

// find returns the index of the signed file called name. For a model of one file some signers write
// ".".
func (r *Report) find(name string) (int, bool) {
	if r.single() {
		return 0, true
	}
	return slices.BinarySearchFunc(r.said.files, name, func(f signed, name string) int {
		return strings.Compare(f.name, name)
	})
}

// compareLists compares the names of the existing files with the signed ones.
func (r *Report) compareLists(t *tree, o *Options) error {
	there := make([]bool, len(r.said.files))
	for i := range t.files {
		f := &t.files[i]
		k, ok := r.find(f.name)
		switch {
		case ok:
			there[k] = true
		case t.root == nil:
			return t.refuse(f.name, driver.ErrSignature, "the signature is not of this file, but of %s", r.models())
		case o.AllowUnsigned || r.said.shard > 0 && f.info.Size() == 0:
		default:
			return t.refuse(f.name, driver.ErrSignature, "the signature does not list it")
		}
	}
	for k, ok := range there {
		if !ok {
			return t.refuse(r.said.files[k].name, driver.ErrSignature, "%w: it is signed and missing, or left out", fs.ErrNotExist)
		}
	}
	return nil
}

// models describes the signed files for an error.
func (r *Report) models() string {
	if n := len(r.said.files); n > 1 {
		return fmt.Sprintf("a directory of %d files", n)
	}
	return fmt.Sprintf("%.200q", r.said.files[0].name)
}

// addJobs adds the ranges of the signed file k, whose size is size, to jobs.
func (r *Report) addJobs(jobs *[]job, k int, path string, size int64) error {
	f := &r.said.files[k]
	if f.size < 0 {
		*jobs = append(*jobs, job{file: k, name: path, size: size})
		return nil
	}
	if f.size != size {
		return different(path, fmt.Sprintf("it has %d bytes, and %d are signed", size, f.size))
	}
	for i := range f.sums {
		off, n := r.said.span(f, i)
		*jobs = append(*jobs, job{file: k, sum: i, name: path, off: off, size: n})
	}
	return nil
}

// hash runs the jobs and compares the digests.
func (r *Report) hash(ctx context.Context, jobs []job, o *Options) error {
	return run(ctx, jobs, o, func(j *job, d digest) error {
		if d == r.said.files[j.file].sums[j.sum] {
			return nil
		}
		return different(j.name, fmt.Sprintf("it is not the file that was signed: bytes %d to %d differ", j.off, j.off+j.size))
	})
}

// different returns the error for a file that differs from the signed one.
func different(path, how string) error {
	return &tensor.Error{Path: path, Offset: -1, Err: fmt.Errorf("%w: %w: %s", driver.ErrSignature, driver.ErrChecksum, how)}
}

// opened adds the open files of m to jobs and returns the indices of the signed files they match.
// Each must be signed.
func (r *Report) opened(jobs *[]job, m *load.OpenModel) (map[int]bool, error) {
	isOpen := map[int]bool{}
	if m == nil {
		return isOpen, nil
	}
	for _, f := range m.Files() {
		k, ok := r.find(r.nameOf(f.Path))
		if !ok {
			return nil, &tensor.Error{Path: f.Path, Offset: -1, Err: fmt.Errorf("%w: the signature does not list it", driver.ErrSignature)}
		}
		n := len(*jobs)
		if err := r.addJobs(jobs, k, f.Path, f.Size); err != nil {
			return nil, err
		}
		for i := range (*jobs)[n:] {
			(*jobs)[n+i].feed = func(w io.Writer, off, size int64) error { return m.Feed(w, &f, off, size) }
		}
		isOpen[k] = true
	}
	return isOpen, nil
}

// nameOf returns the name of the file at path relative to the root, or "" if it is not below the
// root. A file without a path matches only a model of one file.
func (r *Report) nameOf(path string) string {
	if path == "" {
		if len(r.said.files) == 1 {
			return r.said.files[0].name
		}
		return ""
	}
	root, err1 := filepath.Abs(r.root)
	path, err2 := filepath.Abs(path)
	if err1 != nil || err2 != nil {
		return ""
	}
	if path == root {
		return filepath.Base(root)
	}
	name, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}
