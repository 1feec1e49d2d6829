package format_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// Only files that a key has signed are opened.
func ExampleTrustKey() {
	path := filepath.Join(filepath.Dir(examplePath()), "model.mle")
	defer os.RemoveAll(filepath.Dir(path))
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	w, err := format.Create(path, &schema.Schema{}, &format.WriteOptions{Signer: private, Format: mle.Format{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	m, err := format.Open(path, &format.Options{Trusted: format.TrustKey(public)})
	if err != nil {
		log.Fatal(err)
	}
	m.Close()
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = format.Open(path, &format.Options{Trusted: format.TrustKey(other)})
	fmt.Println(errors.Is(err, format.ErrSignature))
	// Output: true
}

// trustFunc is a Trust.
type trustFunc func(u *format.Unverified) error

func (f trustFunc) Check(_ context.Context, u *format.Unverified) error { return f(u) }

// A Trust in the files that a signed SHA256SUMS next to the model lists. The library hashes the files.
func ExampleTrust() {
	path := examplePath()
	dir := filepath.Dir(path)
	defer os.RemoveAll(dir)
	v, err := tensor.Of("w", tensor.Shape{2}, []float32{1, 2})
	if err != nil {
		log.Fatal(err)
	}
	if err := format.Save(context.Background(), path, nil, []tensor.View{v}, nil); err != nil {
		log.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	list := fmt.Appendf(nil, "%x  model.mag\n", sha256.Sum256(b))
	for name, text := range map[string][]byte{"SHA256SUMS": list, "SHA256SUMS.sig": ed25519.Sign(private, list)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			log.Fatal(err)
		}
	}

	trust := trustFunc(func(u *format.Unverified) error {
		files := u.Files()
		if len(files) == 1 && strings.HasSuffix(files[0].Name, ".mle") {
			return u.CheckSignature(public) // in the file
		}
		list, err := u.ReadFile("SHA256SUMS")
		if err != nil {
			return fmt.Errorf("%w: %s: %w", format.ErrSignature, u.Path(), err)
		}
		signature, err := u.ReadFile("SHA256SUMS.sig")
		if err != nil || !ed25519.Verify(public, list, signature) {
			return fmt.Errorf("%w: SHA256SUMS", format.ErrSignature)
		}
		for line := range strings.Lines(string(list)) {
			digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			sum, err := hex.DecodeString(digest)
			if err != nil {
				return err
			}
			err = u.Require(name, format.Digest{Size: -1, New: sha256.New, Sum: sum})
			if err != nil {
				return err
			}
		}
		return nil
	})
	o := &format.Options{Trusted: trust}
	m, err := format.OpenFS(os.DirFS(dir), "model.mag", o)
	if err != nil {
		log.Fatal(err)
	}
	m.Close()
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o666); err != nil {
		log.Fatal(err)
	}
	_, err = format.Open(path, o)
	fmt.Println(errors.Is(err, format.ErrSignature))
	// Output: true
}
