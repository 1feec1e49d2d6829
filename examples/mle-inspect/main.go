// Command mle-inspect describes MLE files and verifies them:
//
//	$ mle-inspect model.mle
//	Version: 2.0
//	Features: COMPRESSION | SIGNING
//	Compression: ZSTD (level 6, ratio: 3.2x)
//	Signature: Valid (ED25519)
//	Integrity: OK
//
// A signature is "Valid" if the key in the file made it for this file, and otherwise "Invalid",
// which is an error. To check who signed the file, use --trust PUB.pem: a signature by another key
// is then "Untrusted", and an unsigned file is an error. Without --trust, the fingerprint of the
// key in the file is printed to standard error. --key is the key of an encrypted file: 64
// hexadecimal digits, or @FILE for a file with them.
//
// Notes go to standard error, and so do parts of the file that neither a checksum nor a
// signature covers: "model.mle: ok, but nothing covers the graph". Several files are separated
// by empty lines. Exit status: 0 for success, 1 for an error in any file, 2 for wrong usage.
package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

func main() { cli.Main(run) }

var tool = cli.Tool{
	Name: "mle-inspect", Args: "[--trust PUB.pem] [--key HEX] FILE...", Dash: "--",
	About: "Show what MLE files are and whether they are whole.",
	Details: "Without --trust a signature is \"Valid\" when the file is what was signed, whoever signed it.\n" +
		"With --trust a file that is not signed by that key fails.\n",
	Example: "mle-inspect --trust pub.pem model.mle",
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	i := inspector{out: stdout, errs: stderr}
	return tool.Status(i.run(ctx, args), stderr)
}

// inspector is a run of the command.
type inspector struct {
	out, errs io.Writer
	trusted   ed25519.PublicKey
	opts      format.Options
	gap       string // before the next file
}

// run shows all files and continues after an error.
func (i *inspector) run(ctx context.Context, args []string) error {
	paths, err := i.parse(ctx, args)
	if err != nil {
		return err
	}
	return tool.Each(paths, i.errs, i.inspect)
}

func (i *inspector) parse(ctx context.Context, args []string) ([]string, error) {
	i.opts.Context = ctx
	f := tool.Flags()
	trust := tool.TrustFlag(f)
	key := tool.KeyFlag(f)
	memory := tool.MemoryFlag(f)
	if err := tool.Parse(f, args, i.out); err != nil {
		return nil, err
	}
	if f.NArg() == 0 {
		return nil, tool.Usagef("no FILE")
	}
	public, err := trust.Public(ctx)
	if err != nil {
		return nil, err
	}
	if ed, ok := public.(ed25519.PublicKey); ok {
		i.trusted = ed
	} else if public != nil {
		return nil, cli.BadArgument(fmt.Errorf("--trust: MLE files are signed with Ed25519, not with a %T", public))
	}
	i.opts.MaxMemory = int64(*memory)
	i.opts.Key, err = key.Secret(ctx)
	return f.Args(), err
}

// inspect prints the lines for one file. It returns what is wrong with the file.
func (i *inspector) inspect(path string) error {
	opts := i.opts
	// Do not fail on a wrong checksum here: it is reported below.
	opts.Check = format.CheckStructure
	f, err := mle.Open(path, &opts)
	if err != nil {
		return err
	}
	defer f.Close()
	covered, bad := f.Verify(opts.Context, nil)
	status, err := f.CheckSignature(opts.Context, i.trusted)
	if err != nil {
		return err
	}
	fmt.Fprintf(i.out, "%sVersion: %s.0\nFeatures: %v\nCompression: %s\nSignature: %s\nIntegrity: %s\n",
		i.gap, f.Version(), f.Header().Features, compression(f), i.signature(status), verdict(bad))
	i.gap = "\n"
	for _, note := range f.Notes() {
		i.remark(path, note)
	}
	if bad != nil {
		return bad
	}
	if text := covered.String(); text != "ok" {
		i.remark(path, text)
	}
	return i.judge(path, f, status)
}

// remark prints a note about a file that is valid.
func (i *inspector) remark(path, text string) {
	fmt.Fprintln(i.errs, cli.Printable(path+": "+text))
}

// compression describes how the weights are stored.
func compression(f *mle.File) string {
	c, ok := f.Compression()
	if !ok || c.Method == mle.MethodNone {
		return "NONE"
	}
	ratio := 1.0
	if c.Stored > 0 {
		ratio = float64(c.Uncompressed) / float64(c.Stored)
	}
	return fmt.Sprintf("%v (level %d, ratio: %.1fx)", c.Method, c.Level, ratio)
}

// signature describes the result of verifying the signature.
func (i *inspector) signature(s format.SignatureState) string {
	switch {
	case s == format.Unsigned:
		return "None"
	case s == format.SignatureBad:
		return "Invalid (ED25519)"
	case s == format.SignatureUnknown && i.trusted != nil:
		return "Untrusted (ED25519)"
	}
	return "Valid (ED25519)"
}

// verdict names the first damaged section.
func verdict(err error) string {
	var at *tensor.Error
	switch {
	case err == nil:
		return "OK"
	case errors.Is(err, format.ErrKey):
		return "UNKNOWN (encrypted weights)"
	case !errors.As(err, &at):
		return "FAILED"
	}
	section := map[string]string{
		"weights": "compression", "compression checksum": "compression", "chunk checksum": "compression",
		"model_hash": "signature", "signature": "signature",
	}[at.Field]
	return "FAILED (" + cmp.Or(section, strings.TrimSuffix(at.Field, "_checksum")) + ")"
}

// judge enforces --trust, or prints what cannot be known without it.
func (i *inspector) judge(path string, f *mle.File, s format.SignatureState) error {
	if i.trusted == nil {
		if s == format.SignatureUnknown {
			i.remark(path, cli.Signed(s, f.Signature(), nil))
		}
		return nil
	}
	why := ""
	switch s {
	case format.SignatureTrusted:
		return nil
	case format.Unsigned:
		why = "unsigned"
	case format.SignatureUnknown:
		why = "signed by an untrusted key"
	case format.SignatureBad:
		why = "changed after signing"
	}
	return fmt.Errorf("%s: %w: %s", path, format.ErrSignature, why)
}
