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
func ReadPublic(path string) (crypto.PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := wia.PublicKey(text)
	if err == nil {
		return key, nil
	}
	_, isPrivate := wia.PrivateKey(text)
	if isPrivate == nil {
		return nil, fmt.Errorf("%s is a private key: name the file of the public key", path)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// ReadPrivate reads the private key in a PEM file.
func ReadPrivate(path string) (crypto.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := wia.PrivateKey(text)
	if err == nil {
		return key, nil
	}
	_, isPublic := wia.PublicKey(text)
	if isPublic == nil {
		return nil, fmt.Errorf("%s is a public key: name the file of the private key", path)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// Fingerprint formats the fingerprint of a public key: the SHA-256 of its PKIX form.
func Fingerprint(key crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "a key the file does not name"
	}
	return fmt.Sprintf("SHA256:%x", sha256.Sum256(der))
}
