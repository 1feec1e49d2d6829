// Command sigstore verifies a model that was signed with Sigstore, without a public key:
//
//	$ sigstore -identity me@example.com -issuer https://accounts.google.com model/model.sig model
//	model: trusted, signed by me@example.com
//
// Package format/signing leaves Sigstore's certificates and transparency log to a verifier from the
// caller. The function verifier shows how to use sigstore-go for it, in signing.Trust. With the
// same Trust a program opens only what was signed, and reads nothing else:
//
//	format.Open("model", &format.Options{Trusted: &signing.Policy{Trust: trust}})
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/weightmap/weightmap/format/signing"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sigstore:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("sigstore", flag.ContinueOnError)
	identity := f.String("identity", "", "who must have signed, the `NAME` in the certificate")
	issuer := f.String("issuer", "", "`URL` of the identity provider")
	trusted := f.String("root", "", "trusted_root.json, a `FILE`; without it that of sigstore.dev is fetched")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 2 || *identity == "" || *issuer == "" {
		return errors.New("usage: sigstore -identity NAME -issuer URL [-root FILE] BUNDLE MODEL")
	}
	var material root.TrustedMaterial
	var err error
	if *trusted != "" {
		material, err = root.NewTrustedRootFromPath(*trusted)
	} else {
		material, err = root.FetchTrustedRoot()
	}
	if err != nil {
		return err
	}
	b, err := signing.Read(f.Arg(0))
	if err != nil {
		return err
	}
	r, err := signing.Verify(ctx, b, f.Arg(1), &signing.Trust{Sigstore: verifier(material, *identity, *issuer)}, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: trusted, signed by %s\n", f.Arg(1), r.Signer)
	return err
}

// verifier returns a function for signing.Trust.Sigstore. It requires a certificate that leads to a
// root in material, belongs to the identity, and was logged.
func verifier(material root.TrustedMaterial, identity, issuer string) func(context.Context, []byte) ([]byte, string, error) {
	return func(_ context.Context, text []byte) ([]byte, string, error) {
		var b bundle.Bundle
		if err := b.UnmarshalJSON(text); err != nil {
			return nil, "", err
		}
		id, err := verify.NewShortCertificateIdentity(issuer, "", identity, "")
		if err != nil {
			return nil, "", err
		}
		v, err := verify.NewVerifier(material, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))
		if err != nil {
			return nil, "", err
		}
		// Package signing compares the model with the statement.
		if _, err := v.Verify(&b, verify.NewPolicy(verify.WithoutArtifactUnsafe(), verify.WithCertificateIdentity(id))); err != nil {
			return nil, "", err
		}
		e, err := b.Envelope()
		if err != nil {
			return nil, "", err
		}
		payload, err := e.RawEnvelope().DecodeB64Payload()
		return payload, identity, err
	}
}
