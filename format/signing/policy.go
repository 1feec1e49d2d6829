package signing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/tensor"
)

// bundleName is how the bundle of a directory is called.
const bundleName = "model.sig"

// Policy makes a signature a condition of opening a model: it is for format.Options.Trusted, there
// and in live.Options. The bundle is read each time a model is opened, and all files that it lists are
// hashed: those that the model has open as they were parsed and mapped, the others from the disk. The
// zero Policy trusts no signer.
type Policy struct {
	// Trust says whose signatures count.
	Trust *Trust
	// Bundle is the path of the bundle. Without it the bundle of a directory is model.sig in it, or else DIRECTORY.sig,
	// and that of a file FILE.sig, or else model.sig in the directory of the file.
	Bundle string
	// Root is the directory or file that was signed. Without it that is the model, and the directory of a model
	// file where the bundle is a model.sig in it, or lists more than this file.
	Root string
	// Options says how the files are listed and hashed.
	Options *Options
}

var _ load.FileTrust = (*Policy)(nil)

// Recording is how format.Open calls the Policy.
func (p *Policy) Recording() load.Recording { return load.NewRecording(p.checkFiles) }

// BundlePaths returns where the bundle of a model may be. Package live watches these files.
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

// checkFiles checks the files of a model that is being opened, and those next to it.
func (p *Policy) checkFiles(ctx context.Context, path string, m *load.OpenModel) error {
	if p == nil {
		p = &Policy{}
	}
	o, err := p.Options.checked()
	if err != nil {
		return err
	}
	b, err := p.read(path)
	if err != nil {
		return err
	}
	r, err := b.verified(ctx, p.Trust)
	if err != nil {
		return err
	}
	if r.root = p.rootOf(r, path); r.root == "" {
		return r.checkOpen(ctx, &o, m)
	}
	return r.check(ctx, &o, m)
}

// read reads the first bundle that is there.
func (p *Policy) read(model string) (b *Bundle, err error) {
	err = os.ErrNotExist
	for _, path := range p.BundlePaths(model) {
		if b, err = Read(path); err == nil || !os.IsNotExist(err) {
			return b, err
		}
	}
	return nil, &tensor.Error{Path: model, Offset: -1, Err: fmt.Errorf("%w: there is no signature: %w", driver.ErrSignature, err)}
}

// rootOf returns what was signed, "" for a model without files.
func (p *Policy) rootOf(r *Report, model string) string {
	if p.Root != "" || model == "" {
		return p.Root
	}
	info, err := os.Stat(model)
	isDir := err == nil && info.IsDir()
	dir := filepath.Dir(model)
	ofDir := len(r.Files) > 1 || r.Files[0].Name != filepath.Base(model) || filepath.Clean(r.bundle) == filepath.Join(dir, bundleName)
	if isDir || r.single() || !ofDir {
		return model
	}
	return dir
}

// checkOpen compares the files of a model that is open, and no other.
func (r *Report) checkOpen(ctx context.Context, o *Options, m *load.OpenModel) error {
	var jobs []job
	if _, err := r.opened(&jobs, m); err != nil {
		return err
	}
	return r.hash(ctx, jobs, o)
}
