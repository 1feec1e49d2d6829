package main

import (
	"context"
	"crypto"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
)

// verify checks every file and goes on after one that is bad.
func verify(c *command, args []string, out, errs io.Writer) error {
	f := c.flags(errs)
	trust := f.String("trust", "", "`PUB.pem`, the public key that must have signed the files")
	opts := keyFlag(f)
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return fmt.Errorf("%w: verify needs at least one FILE", errUsage)
	}
	var trusted crypto.PublicKey
	if *trust != "" {
		var err error
		if trusted, err = keys.ReadPublic(*trust); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	var bad error
	for _, path := range f.Args() {
		line, err := verifyFile(path, opts, trusted)
		if err != nil {
			complain(errs, err)
			bad = errReported
			continue
		}
		fmt.Fprintf(out, "%s: %s\n", printable(path), line)
	}
	return bad
}

// verifyFile returns the line to print behind the path of a good file.
func verifyFile(path string, o *format.Options, trusted crypto.PublicKey) (string, error) {
	m, err := format.Open(path, o)
	if err != nil {
		return "", err
	}
	defer m.Close()
	var opts []format.VerifyOption
	if trusted != nil {
		opts = append(opts, format.WithTrustedKey(trusted))
	}
	if err := m.Verify(context.Background(), opts...); err != nil {
		return "", err
	}
	line := fmt.Sprintf("ok (%s %s, %s, %s)", m.Format(), m.Version(), count(m.Len(), "tensor"), size(totalSize(path)))
	if s, ok := m.(format.Signer); ok && s.Signature() != nil {
		line += ", " + signer(s.Signature(), trusted)
	}
	return line, nil
}

// signer says who signed and whether that means anything.
func signer(s *format.Signature, trusted crypto.PublicKey) string {
	key := s.PublicKey
	if trusted != nil {
		key = trusted
	}
	who, err := keys.Fingerprint(key)
	if err != nil {
		who = "a key the file does not name"
	}
	if trusted == nil {
		return "signed by " + who + ", not checked against a trusted key"
	}
	return "signed by " + who
}
