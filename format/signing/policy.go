package signing

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
)

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
	ofDir := len(r.Files) > 1 || r.Files[0].Name != filepath.Base(model) || filepath.Clean(bundle) == filepath.Join(dir, bundleName)
	if isDir || r.said.single() || !ofDir {
		return model
	}
	return dir
}
