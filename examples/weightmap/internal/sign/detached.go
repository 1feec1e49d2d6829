package sign

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/examples/weightmap/internal/write"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/signing"
)

// detached holds the options for a signature in a separate file.
type detached struct {
	signature string
	ignore    []string
}

// detachedFlags adds -signature and -ignore.
func detachedFlags(f *flag.FlagSet, usage string) *detached {
	d := &detached{}
	f.StringVar(&d.signature, "signature", "", usage)
	f.Func("ignore", "with -signature, leave out `PATH`, a file or a directory below the model; may be repeated", func(path string) error {
		d.ignore = append(d.ignore, path)
		return nil
	})
	return d
}

// options returns the options for hashing the model at root. Ignored paths are relative to the
// model or to the current directory.
func (d *detached) options(root string, p *cli.Progress) (*signing.Options, error) {
	o := &signing.Options{Bundle: d.signature, Progress: p.Report}
	base, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	for _, path := range d.ignore {
		full := filepath.Join(base, path)
		if abs, err := filepath.Abs(path); err == nil &&
			(filepath.IsAbs(path) || !modelfile.Exists(full) && modelfile.Exists(path)) {
			full = abs
		}
		name, err := filepath.Rel(base, full)
		if err != nil || !filepath.IsLocal(name) {
			return nil, cli.BadArgument(fmt.Errorf("-ignore: %s is not below %s", path, root))
		}
		o.Ignore = append(o.Ignore, filepath.ToSlash(name))
	}
	return o, nil
}

// sign writes the signature of a file or a directory.
func (d *detached) sign(ctx context.Context, c *cli.Tool, root string, with *cli.KeyOption,
	out, errs io.Writer) error {
	if d.signature != modelfile.StandardInput && modelfile.Exists(d.signature) {
		if _, err := signing.Read(d.signature); err != nil {
			return fmt.Errorf("not replaced, because it is not a signature: %w", err)
		}
	}
	key, err := with.Private(ctx)
	if err != nil {
		return err
	}
	progress := cli.NewProgress(errs, "hashing")
	defer progress.Finish()
	o, err := d.options(root, progress)
	if err != nil {
		return err
	}
	b, err := signing.Sign(ctx, root, signing.Signer{Key: key}, o)
	if errors.Is(err, format.ErrKey) {
		err = cli.Advised(err, write.MakeKey("ecdsa"))
	}
	if err != nil {
		return err
	}
	err = c.Output(ctx, d.signature, out, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
	if err != nil || d.signature == modelfile.StandardInput {
		return err
	}
	progress.Finish()
	_, err = fmt.Fprintln(out, cli.Printable(fmt.Sprintf("%s: %s signed by %s", d.signature, root,
		cli.Fingerprint(key.Public()))))
	return err
}

// verify checks that a file or a directory is what a trusted signer signed.
func (d *detached) verify(ctx context.Context, root string, trust *cli.KeyOption, verbose bool,
	out, errs io.Writer) error {
	t, err := cli.ReadKey(ctx, trust, signing.ReadTrust)
	if err != nil {
		return err
	}
	progress := cli.NewProgress(errs, "hashing")
	defer progress.Finish()
	o, err := d.options(root, progress)
	if err != nil {
		return err
	}
	b, err := signing.Read(d.signature)
	if err != nil {
		return err
	}
	r, err := signing.Verify(ctx, b, root, t, o)
	if err != nil {
		return err
	}
	progress.Finish()
	if _, err := fmt.Fprintln(out, "trusted"); err != nil || !verbose {
		return err
	}
	text := fmt.Sprintf("  signed by %s\n", cli.Printable(r.Signer))
	for _, f := range r.Files {
		text += "  " + cli.Printable(f.Name) + "\n"
	}
	_, err = io.WriteString(out, text)
	return err
}
