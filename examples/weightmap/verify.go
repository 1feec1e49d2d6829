package main

import (
	"context"
	"crypto"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
)

// verify checks every file and goes on after one that is bad.
func verify(c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	trust := f.String("trust", "", "public key that must have signed the files, in a `PUB.pem`")
	key := keyFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return c.Usagef("verify needs at least one FILE")
	}
	trusted, err := cli.ReadPublic(*trust)
	if err != nil {
		return err
	}
	secret, err := cli.ParseKey(*key)
	if err != nil {
		return err
	}
	var bad error
	for _, path := range f.Args() {
		line, err := verifyFile(path, secret, trusted)
		if err != nil {
			c.Complain(err, errs)
			bad = cli.ErrReported
			continue
		}
		if _, err := fmt.Fprintln(out, cli.Printable(path+": "+line)); err != nil {
			return err
		}
	}
	return bad
}

// verifyFile returns the line to print behind the path of a good file.
func verifyFile(path string, key []byte, trusted crypto.PublicKey) (string, error) {
	m, err := openModel(path, key)
	if err != nil {
		return "", err
	}
	defer m.Close()
	line, err := verifyModel(m, cli.FileSize(path), trusted)
	return line, hint(err, key)
}

func verifyModel(m *format.Model, size int64, trusted crypto.PublicKey) (string, error) {
	var opts []format.VerifyOption
	if trusted != nil {
		opts = append(opts, format.WithTrustedKey(trusted))
	}
	known := m.Notes()
	covered, err := m.Verify(context.Background(), opts...)
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("%v (%s %s, %s, %s)", covered, m.Format(), m.Version(), cli.Count(m.Len(), "tensor"), cli.Size(size))
	if text := cli.Signed(covered.Signature(), m.Signature(), trusted); text != "" {
		line += ", " + text
	}
	// What only verification could notice; inspect shows the rest.
	for _, n := range m.Notes() {
		if !slices.Contains(known, n) {
			line += ", " + n
		}
	}
	return line, nil
}
