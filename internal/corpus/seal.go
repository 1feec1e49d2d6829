package corpus

import (
	"crypto/aes"
	"crypto/cipher"
)

// GCM is AES-256-GCM by the standard library, for what the files hold encrypted.
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

// Seal returns data encrypted, behind a nonce that never varies: the files of a corpus
// are the same each time.
func Seal(key, data, additional []byte) []byte {
	const nonce = "twelve bytes"
	return GCM(key).Seal([]byte(nonce), []byte(nonce), data, additional)
}
