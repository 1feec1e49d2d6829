package corpus

import (
	"crypto/aes"
	"crypto/cipher"
)

// GCM returns the standard library's AES-256-GCM, for files with encrypted data.
func GCM(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm
}

// Seal encrypts data behind a constant nonce, so that the files of a corpus never change.
func Seal(key, data, additional []byte) []byte {
	const nonce = "twelve bytes"
	return GCM(key).Seal([]byte(nonce), []byte(nonce), data, additional)
}
