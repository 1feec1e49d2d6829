// Package keys parses and encodes the PEM files of signing keys, as "openssl genpkey" makes them:
// PKCS #8 private keys and PKIX public keys for Ed25519, RSA and ECDSA. It also reads the private
// keys of "openssl ecparam -genkey" and "openssl genrsa -traditional".
package keys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// The types of the PEM blocks.
const (
	publicBlock  = "PUBLIC KEY"
	privateBlock = "PRIVATE KEY"
	ecBlock      = "EC PRIVATE KEY"  // SEC 1
	rsaBlock     = "RSA PRIVATE KEY" // PKCS #1
)

// ErrKey is wrapped by every error about the content of a key file.
var ErrKey = errors.New("unusable key")

// ParsePublic parses the PKIX public key in the text of a PEM file: an ed25519.PublicKey,
// *rsa.PublicKey or *ecdsa.PublicKey.
func ParsePublic(text []byte) (crypto.PublicKey, error) {
	key, err := parse(text, publicBlock, map[string]decoder{publicBlock: x509.ParsePKIXPublicKey})
	switch key.(type) {
	case nil, ed25519.PublicKey, *rsa.PublicKey, *ecdsa.PublicKey:
		return key, err
	}
	return nil, fmt.Errorf("%w: %T", ErrKey, key)
}

// ParseAny parses a PKIX public key of any kind, DER or in the first PEM block.
func ParseAny(b []byte) (crypto.PublicKey, error) {
	if block, _ := pem.Decode(b); block != nil {
		b = block.Bytes
	}
	return x509.ParsePKIXPublicKey(b)
}

// ParsePrivate parses the private key (PKCS #8, SEC 1 or PKCS #1) in the text of a PEM file: an
// ed25519.PrivateKey, *rsa.PrivateKey or *ecdsa.PrivateKey.
func ParsePrivate(text []byte) (crypto.Signer, error) {
	key, err := parse(text, privateBlock, map[string]decoder{
		privateBlock: x509.ParsePKCS8PrivateKey,
		ecBlock:      func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
		rsaBlock:     func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
	})
	signer, ok := key.(crypto.Signer)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %T cannot sign", ErrKey, key)
	}
	return signer, err
}

// decoder decodes a key.
type decoder func(der []byte) (any, error)

// parse decodes the first PEM block of one of the wanted types. Errors name the usual one.
func parse(text []byte, want string, decoders map[string]decoder) (any, error) {
	found := ""
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		if decode := decoders[b.Type]; decode != nil {
			key, err := decode(b.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrKey, err)
			}
			return key, nil
		}
		found = fmt.Sprintf(", only %q", b.Type)
	}
	return nil, fmt.Errorf("%w: no PEM block %q%s", ErrKey, want, found)
}

// EncodePublic returns the PEM file of a public key.
func EncodePublic(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	return encode(publicBlock, der, err)
}

// EncodePrivate returns the PEM file of a private key. It is not encrypted, so
// only its owner should be able to read it.
func EncodePrivate(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return encode(privateBlock, der, err)
}

func encode(block string, der []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der}), nil
}

// Fingerprint returns the hexadecimal SHA-256 of the key's PKIX form, as
// printed by "openssl pkey -pubin -outform DER | sha256sum".
func Fingerprint(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrKey, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(der)), nil
}

// publicKey is what all public keys of package crypto implement.
type publicKey interface{ Equal(crypto.PublicKey) bool }

// Equal reports whether two public keys are the same.
func Equal(a, b crypto.PublicKey) bool {
	k, ok := a.(publicKey)
	return ok && k.Equal(b)
}
