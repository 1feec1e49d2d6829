package sign

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
)

// Keygen is the command keygen.
var Keygen = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap keygen", Args: "[-type ed25519|ecdsa|rsa] KEY.pem PUB.pem",
	About: "Make a key pair for signing.",
	Details: "MLE files are signed with Ed25519, WIA files with ECDSA on P-256 or RSA of 3072 bits, and models of any\n" +
		"format (sign -signature) with ECDSA. KEY.pem (PKCS #8) is not encrypted, and only you can read it;\n" +
		"PUB.pem (PKIX) is for \"verify -trust\". keygen never replaces a file.\n",
	Example: "weightmap keygen -type ecdsa key.pem pub.pem",
}, Run: keygen}

// rsaBits gives a strength comparable to the other keys.
const rsaBits = 3072

// generators generate a key of each type.
var generators = map[string]func() (crypto.Signer, error){
	"ed25519": func() (crypto.Signer, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	},
	"ecdsa": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
	"rsa":   func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, rsaBits) },
}

// keygen writes two new files, or none.
func keygen(_ context.Context, c *cli.Tool, args []string, out, _ io.Writer) error {
	f := c.Flags()
	kind := f.String("type", "ed25519", "`KIND` of key: ed25519 (MLE), ecdsa (WIA, sign -signature) or rsa (WIA)")
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return c.Usagef("keygen takes KEY.pem and PUB.pem")
	}
	for _, path := range f.Args() {
		if err := cli.CheckTarget(path); err != nil {
			return err
		}
	}
	generate, known := generators[*kind]
	if !known {
		return c.Usagef("-type takes ed25519, ecdsa or rsa, not %q%s", *kind,
			cli.DidYouMean(*kind, "", []string{"ed25519", "ecdsa", "rsa"}))
	}
	key, err := generate()
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	err = writeNew(f.Arg(0), "PRIVATE KEY", private, 0o600)
	if err != nil {
		return err
	}
	err = writeNew(f.Arg(1), "PUBLIC KEY", public, 0o666)
	if err != nil {
		os.Remove(f.Arg(0)) // useless without the other
		return err
	}
	_, err = fmt.Fprintln(out, cli.Printable(fmt.Sprintf("%s, %s: %s key %s", f.Arg(0), f.Arg(1),
		*kind, cli.Fingerprint(key.Public()))))
	return err
}

// writeNew creates a PEM file, which must not exist, and removes it after an error.
func writeNew(path, kind string, der []byte, mode os.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; keygen never replaces a file", path)
	}
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			os.Remove(path)
		}
	}()
	err = pem.Encode(f, &pem.Block{Type: kind, Bytes: der})
	if err != nil {
		return err
	}
	return f.Sync()
}
