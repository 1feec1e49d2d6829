// Command mle-inspect shows what MLE files are and whether they are whole:
//
//	$ mle-inspect model.mle
//	Version: 2.0
//	Features: COMPRESSION | SIGNING
//	Compression: ZSTD (level 6, ratio: 3.2x)
//	Signature: Valid (ED25519)
//	Integrity: OK
//
// A signature is "Valid" when the file is what was signed. Who signed it is
// only known with --trust PUB.pem: without it the fingerprint of the key in
// the file goes to standard error, and with it a signature by another key is
// "Untrusted" and an unsigned file an error. --key gives the key of an encrypted
// file, 64 hexadecimal digits.
//
// What is tolerated about a file goes to standard error too. Several files are
// separated by empty lines. Exit status: 0 for success, 1 if any file is bad, 2
// for wrong usage.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/mle"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	i := inspector{out: stdout, errs: stderr}
	paths, err := i.parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "mle-inspect: %v\n", err)
		return 2
	}
	status := 0
	for n, path := range paths {
		if n > 0 {
			fmt.Fprintln(stdout)
		}
		if err := i.inspect(path); err != nil {
			fmt.Fprintf(stderr, "mle-inspect: %v\n", err)
			status = 1
		}
	}
	return status
}

// inspector is the command at work.
type inspector struct {
	out, errs io.Writer
	trusted   ed25519.PublicKey
	opts      format.Options
}

func (i *inspector) parse(args []string) ([]string, error) {
	f := flag.NewFlagSet("mle-inspect", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	trust := f.String("trust", "", "PEM file of the public key that must have signed")
	key := f.String("key", "", "key of an encrypted file, in hexadecimal")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() == 0 {
		return nil, errors.New("usage: mle-inspect [--trust PUB.pem] [--key HEX] FILE [FILE ...]")
	}
	if *trust != "" {
		public, err := keys.ReadPublic(*trust)
		if err != nil {
			return nil, err
		}
		ed, ok := public.(ed25519.PublicKey)
		if !ok {
			return nil, fmt.Errorf("%s: MLE files are signed with Ed25519, not with a %T", *trust, public)
		}
		i.trusted = ed
	}
	var err error
	i.opts.Key, err = hex.DecodeString(*key)
	return f.Args(), err
}

// inspect prints the lines of one file. The error says what is wrong with it.
func (i *inspector) inspect(path string) error {
	opts := i.opts
	// Wrong checksums are to be shown, not to keep the file from opening.
	opts.Check = format.CheckStructure
	f, err := mle.Open(path, &opts)
	if err != nil {
		return err
	}
	defer f.Close()
	integrity, err := f.VerifyIntegrity(context.Background())
	if err != nil {
		return err
	}
	status, err := f.CheckSignature(context.Background(), i.trusted)
	if err != nil {
		return err
	}
	fmt.Fprintf(i.out, "Version: %s.0\nFeatures: %v\nCompression: %s\nSignature: %s\nIntegrity: %s\n",
		f.Version(), f.Header().Features, compression(f), i.signature(status), verdict(integrity))
	for _, note := range f.Notes() {
		fmt.Fprintf(i.errs, "%s: %s\n", path, note)
	}
	if err := integrity.Err(); err != nil {
		return err
	}
	return i.judge(path, f, status)
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

// signature describes the outcome of checking it.
func (i *inspector) signature(s mle.SignatureStatus) string {
	switch {
	case s == mle.Unsigned:
		return "None"
	case s == mle.Tampered:
		return "Invalid (ED25519)"
	case s == mle.Untrusted && i.trusted != nil:
		return "Untrusted (ED25519)"
	}
	return "Valid (ED25519)"
}

func verdict(r *mle.Integrity) string {
	for _, s := range r.Sections {
		if s.Status == mle.Broken {
			return "FAILED (" + s.Name + ")"
		}
	}
	if !r.OK() {
		return "UNKNOWN (encrypted weights)"
	}
	return "OK"
}

// judge demands what --trust asks for, and says what is missing without it.
func (i *inspector) judge(path string, f *mle.File, s mle.SignatureStatus) error {
	switch {
	case i.trusted != nil && s != mle.Valid:
		return fmt.Errorf("%s: %w: %v", path, format.ErrSignature, s)
	case i.trusted == nil && s == mle.Untrusted:
		who, err := keys.Fingerprint(f.Signature().PublicKey)
		if err != nil {
			return err
		}
		fmt.Fprintf(i.errs, "%s: signed by %s, not checked against a trusted key\n", path, who)
	}
	return nil
}
