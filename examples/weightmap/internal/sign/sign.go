// Package sign has the commands for checksums and signatures: verify, sign and keygen.
package sign

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/examples/weightmap/internal/write"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/wia"
)

// Sign is the command sign.
var Sign = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap sign", Args: "-with KEY.pem [-signature OUT.sig] [-key HEX] IN [OUT]",
	About: "Sign an MLE or WIA file, or with -signature any file or directory.",
	Details: "IN is verified first, so that no damaged file is signed. Without OUT, the signed file replaces IN.\n" +
		"MLE needs an Ed25519 key, WIA an ECDSA key on P-256 or an RSA key; see keygen. An encrypted WIA file\n" +
		"needs -key; an encrypted MLE file can be signed only if it is signed already.\n\n" +
		"-signature signs a file or directory of any format without changing it, and writes the signature to\n" +
		"another file (OpenSSF Model Signing). It needs an ECDSA key; see \"weightmap keygen -type ecdsa\".\n",
	Example: "weightmap sign -with key.pem model.mle signed.mle\n" +
		"  weightmap sign -with key.pem -signature model/model.sig model",
}, Run: sign}

// sign signs a file in place, or to another one.
func sign(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) (err error) {
	f := c.Flags()
	with := c.KeyOption(f, "with", "sign with the private key in `KEY.pem`")
	o := c.OutputFlag(f)
	given := modelfile.AccessFlags(c, f)
	d := detachedFlags(f, "sign FILE or DIR without changing it, and write the signature to `OUT.sig`")
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if d.signature != "" {
		if f.NArg() != 1 || !with.Given() || *o != "" {
			return c.Usagef("sign -signature needs -with KEY.pem and one FILE or DIR")
		}
		return d.sign(ctx, c, f.Arg(0), with, out, errs)
	}
	if f.NArg() != 1 && (f.NArg() != 2 || *o != "") || !with.Given() {
		return c.Usagef("sign needs -with KEY.pem, IN and optionally OUT")
	}
	target := cmp.Or(*o, f.Arg(f.NArg()-1))
	if kind := modelfile.Elsewhere(f.Arg(0)); kind != "" && target != modelfile.StandardInput {
		return c.Usagef("sign takes a file, not %s", kind)
	}
	if err := cli.CheckTarget(target); err != nil {
		return err
	}
	defer cli.NewTarget(target).Ended(&err)
	signer, err := with.Private(ctx)
	if err != nil {
		return err
	}
	reading, err := given.Options(ctx)
	if err != nil {
		return err
	}
	if err := signFile(f.Arg(0), target, signer, reading, errs); err != nil {
		return adviseSign(f.Arg(0), with.File(), signer, err)
	}
	_, err = fmt.Fprintln(out, cli.Printable(target+": signed by "+cli.Fingerprint(signer.Public())))
	return err
}

// errNoSignature is the error of a format without signatures.
var errNoSignature = fmt.Errorf("%w", format.ErrUnsupported)

// adviseSign adds to an error of signFile the command that makes another signature, or another key.
// key is the file of the signer.
func adviseSign(in, key string, signer crypto.Signer, err error) error {
	_, isCurve := signer.(*ecdsa.PrivateKey)
	switch {
	case errors.Is(err, errNoSignature) && isCurve:
		return cli.Advised(err, modelfile.TryWords([]string{"sign", "-with", key,
			"-signature", in + ".sig", in}))
	case errors.Is(err, errNoSignature):
		return cli.Advised(err, write.MakeKey("ecdsa"))
	}
	var kind *write.SignerError
	if errors.As(err, &kind) {
		return cli.Advised(err, write.MakeKey(kind.Needs))
	}
	return err
}

func signFile(in, out string, signer crypto.Signer, reading *format.Options, errs io.Writer) error {
	m, err := modelfile.OpenModel(in, reading)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = modelfile.Verified(reading.Context, m, errs, &format.VerifyOptions{})
	if err != nil && !(m.NeedsKey() && errors.Is(err, format.ErrKey)) {
		return err
	}
	if err := write.KeepsEnding(m, in, out); err != nil {
		return err
	}
	if err := write.CheckSigner(m.Format(), signer); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if _, ok := wia.From(m); ok {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		progress := cli.NewProgress(errs, "signing")
		defer progress.Finish()
		o := &format.WriteOptions{Context: reading.Context, Progress: progress.Report, Signer: signer}
		return write.Rewrite(m, out, meta, o, reading.Key)
	}
	if _, ok := mle.From(m); !ok {
		return fmt.Errorf("%s: %w: %s files have no signature; -signature writes it to another file", in,
			errNoSignature, m.Format())
	}
	m.Close() // some systems cannot replace an open file
	return mle.Sign(in, signer.(ed25519.PrivateKey),
		&mle.SignOptions{Context: reading.Context, To: out})
}
