package signing_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/tensor"
)

// model writes a model into a new directory and returns the directory with a new key.
func model() (dir string, key *ecdsa.PrivateKey) {
	dir, err := os.MkdirTemp("", "signing")
	if err != nil {
		log.Fatal(err)
	}
	v, errView := tensor.Of("w", tensor.Shape{2}, []int8{1, 2})
	key, errKey := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(errView, errKey, format.Save(context.Background(), filepath.Join(dir, "model.safetensors"), nil, []tensor.View{v}, nil)); err != nil {
		log.Fatal(err)
	}
	return dir, key
}

// Sign a directory and store the bundle in it.
func ExampleSign() {
	dir, key := model()
	defer os.RemoveAll(dir)
	b := sign(dir, key)
	read, err := signing.Parse(b.Bytes())
	fmt.Println(read.Method(), read.Signer() == b.Signer(), err)
	// Output: key true <nil>
}

// sign signs a directory and writes the bundle into it.
func sign(dir string, key crypto.Signer) *signing.Bundle {
	path := filepath.Join(dir, "model.sig")
	b, err := signing.Sign(context.Background(), dir, signing.Signer{Key: key}, &signing.Options{Bundle: path})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		log.Fatal(err)
	}
	return b
}

// The directory must have the files that were signed, and no others.
func ExampleVerify() {
	dir, key := model()
	defer os.RemoveAll(dir)
	sign(dir, key)
	trusted := filepath.Join(filepath.Dir(dir), filepath.Base(dir)+".pem")
	defer os.Remove(trusted)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o666); err != nil {
		log.Fatal(err)
	}

	trust, err := signing.ReadTrust(trusted) // or signing.ParseTrust
	if err != nil {
		log.Fatal(err)
	}
	b, err := signing.Read(filepath.Join(dir, "model.sig"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := signing.Verify(context.Background(), b, dir, trust, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Files {
		fmt.Println(f.Name)
	}

	if err := os.WriteFile(filepath.Join(dir, "run.py"), nil, 0o666); err != nil {
		log.Fatal(err)
	}
	_, err = signing.Verify(context.Background(), b, dir, trust, nil)
	fmt.Println(errors.Is(err, format.ErrSignature))
	// Output:
	// model.safetensors
	// true
}

// Open refuses a model that differs from the signed one.
func ExamplePolicy() {
	dir, key := model()
	defer os.RemoveAll(dir)
	sign(dir, key)
	o := &format.Options{Trusted: &signing.Policy{Trust: &signing.Trust{Keys: []crypto.PublicKey{key.Public()}}}}

	m, err := format.Open(dir, o)
	if err != nil {
		log.Fatal(err)
	}
	m.Close()
	v, err := tensor.Of("w", tensor.Shape{2}, []int8{1, 3})
	if err := errors.Join(err, format.Save(context.Background(), filepath.Join(dir, "model.safetensors"), nil, []tensor.View{v}, nil)); err != nil {
		log.Fatal(err)
	}
	_, err = format.Open(dir, o)
	fmt.Println(errors.Is(err, format.ErrSignature))
	// Output: true
}

// Keys in PEM form.
func ExampleParseTrust() {
	_, err := signing.ParseTrust([]byte("no key"))
	fmt.Println(errors.Is(err, format.ErrKey))
	// Output: true
}
