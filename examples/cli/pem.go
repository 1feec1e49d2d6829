package cli

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/weightmap/weightmap/wia"
)

// ReadPublic reads the public key in a PEM file.
func ReadPublic(path string) (crypto.PublicKey, error) { return readPEM(path, wia.PublicKey) }

// ReadPrivate reads the private key in a PEM file.
func ReadPrivate(path string) (crypto.Signer, error) { return readPEM(path, wia.PrivateKey) }

func readPEM[K any](path string, parse func(text []byte) (K, error)) (key K, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	key, err = parse(text)
	if err != nil {
		return key, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Fingerprint formats the fingerprint of a public key: the SHA-256 of its PKIX form.
func Fingerprint(key crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "a key the file does not name"
	}
	return fmt.Sprintf("SHA256:%x", sha256.Sum256(der))
}
