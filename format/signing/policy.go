package signing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// bundleName is the default name of a directory's bundle.
const bundleName = "model.sig"

// Policy is a format.Trust that requires a valid signature: set it as Trusted in format.Options.
// Each open reads the bundle, and then every file of the model must be listed in it and must not
// differ. Files that the model does not use are not looked at; Verify checks whole directories. The
// zero Policy trusts no signer.
type Policy struct {
	// Trust holds the trusted signers.
	Trust *Trust
	// Bundle is the path of the bundle. If empty, the bundle of a directory DIR is DIR/model.sig or
	// else DIR.sig; the bundle of a file FILE is FILE.sig or else model.sig in the same directory.
	// It is read from where the model is: from the directory, the file system or the reader
	// (Sibling).
	Bundle string
	// Root is the directory or file that was signed, for a model that is opened by its path. If
	// empty, the names in the bundle are relative to the directory of the model, or to the model if
	// that is a directory. A model in a file system or behind a reader that lies deeper in what was
	// signed is found by its name, which the bundle must then list once.
	Root string
	// Options has the files that are left out (Ignore). Its other fields only matter for Verify.
	Options *Options
}

var _ format.TrustWatcher = (*Policy)(nil)

// Paths returns the possible paths of a model's bundle. Package live watches these files.
func (p *Policy) Paths(model string) []string {
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

// Check verifies the signature and requires the digests of the files that it lists. Opening a model
// calls it.
func (p *Policy) Check(ctx context.Context, u *format.Unverified) error {
	p = cmp.Or(p, &Policy{})
	o, err := p.Options.checked()
	if err != nil {
		return err
	}
	m := opening{Unverified: u, path: u.Path()}
	if files := u.Files(); len(files) > 0 {
		m.isFile = true
		m.name = files[0].Name
	}
	b, err := p.read(&m)
	if err != nil {
		return err
	}
	r, err := b.verified(ctx, p.Trust)
	if err != nil {
		return err
	}
	if r.said.single() {
		return r.said.requireSingle(&m)
	}
	prefix, err := p.prefix(&m, r.said)
	if err != nil {
		return err
	}
	return r.said.require(&m, prefix, slices.Concat(defaults, r.said.ignore, o.Ignore))
}

// opening is a model that is being opened.
type opening struct {
	*format.Unverified
	path   string // "" for none
	isFile bool   // it is no directory
	name   string // of the file, "" for none
}

// read reads the first bundle that exists.
func (p *Policy) read(m *opening) (*Bundle, error) {
	if p.Bundle != "" {
		b, err := Read(p.Bundle)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, noSignature(m, err)
		}
		return b, err
	}
	names := []string{bundleName}
	if m.name != "" {
		names = []string{m.name + ".sig", bundleName}
	}
	var missing error
	for _, name := range names {
		text, err := m.ReadFile(name)
		if err == nil {
			return parseAt(text, m.pathOf(name))
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, tensor.ErrUnsupported) { // bytes have no other files
			return nil, err
		}
		missing = err
	}
	if !m.isFile && m.path != "" {
		b, err := Read(filepath.Clean(m.path) + ".sig")
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	return nil, noSignature(m, missing)
}

func noSignature(m *opening, err error) error {
	return refuse(m.path, tensor.ErrSignature, "there is no signature: %w", err)
}

// dir returns the directory of the files of a model that has a path.
func (m *opening) dir() string {
	if m.isFile {
		return filepath.Dir(m.path)
	}
	return m.path
}

// pathOf returns the path of a file of the model, or its name if the model has no path.
func (m *opening) pathOf(name string) string {
	if m.path == "" {
		return name
	}
	return filepath.Join(m.dir(), name)
}

// prefix returns what the names of the model's files begin with in the statement: "" or a directory
// with a slash.
func (p *Policy) prefix(m *opening, s *statement) (string, error) {
	if m.path == "" {
		return s.prefixOf(m.name)
	}
	if p.Root == "" {
		return "", nil
	}
	if name, ok := below(p.Root, m.path); ok && name == "." {
		return "", nil
	}
	dir, ok := below(p.Root, m.dir())
	if !ok {
		return "", refuse(m.path, tensor.ErrSignature, "it is not below %s, which was signed", p.Root)
	}
	if dir == "." {
		return "", nil
	}
	return dir + "/", nil
}

// prefixOf is Policy.prefix for a model of which only the name is known.
func (s *statement) prefixOf(name string) (string, error) {
	if name == "" || s.files[name] != nil {
		return "", nil
	}
	var found []string
	for _, file := range s.names() {
		if path.Base(file) == name {
			found = append(found, path.Dir(file)+"/")
		}
	}
	switch len(found) {
	case 0:
		return "", nil // the engine refuses a file that is not required
	case 1:
		return found[0], nil
	}
	return "", refuse(name, tensor.ErrSignature, "the signature lists %d files of this name in directories, and none outside", len(found))
}

// require requires the digests of the files whose names begin with prefix.
func (s *statement) require(m *opening, prefix string, ignore []string) error {
	for _, file := range s.names() {
		name, ok := strings.CutPrefix(file, prefix)
		if !ok || isIgnored(file, ignore) {
			continue
		}
		if err := m.Require(name, s.digests(file)...); err != nil {
			return err
		}
	}
	return nil
}

// requireSingle is require for a statement about one file of any name.
func (s *statement) requireSingle(m *opening) error {
	if !m.isFile {
		return refuse(m.path, tensor.ErrSignature, "it is a directory, and the signature is of one file")
	}
	return m.Require(cmp.Or(m.name, "model"), s.digests(".")...)
}

// isIgnored reports whether a path or a directory above it is in a list.
func isIgnored(name string, list []string) bool {
	for ; name != "."; name = path.Dir(name) {
		if slices.Contains(list, name) {
			return true
		}
	}
	return false
}

// digests returns what the statement says of a file.
func (s *statement) digests(file string) (list []format.Digest) {
	for _, p := range s.files[file] {
		d := format.Digest{Size: -1, New: sha256.New, Sum: p.sum[:]}
		if s.shard > 0 {
			d.Offset = p.from
			d.Size = p.size()
		}
		list = append(list, d)
	}
	return list
}
