// Package seal encrypts and decrypts parts of files with AES-256-GCM:
//
//	nonce(12) || ciphertext || tag(16)
//
// A message is authenticated as a whole: nothing is returned before its tag is
// checked.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Sizes in bytes.
const (
	KeySize  = 32
	Overhead = 12 + 16
	MaxPlain = 1<<36 - 32 // of the plaintext of one message
)

// Cipher encrypts and decrypts with one key. It is safe for concurrent use.
type Cipher struct{ gcm cipher.AEAD }

// New returns a Cipher for a key of KeySize bytes. A missing key, or one of
// another size, is driver.ErrKey.
func New(key []byte) (*Cipher, error) {
	switch {
	case key == nil:
		return nil, fmt.Errorf("%w: none was given", tensor.ErrKey)
	case len(key) != KeySize:
		return nil, fmt.Errorf("%w: it has %d bytes, AES-256 takes %d", tensor.ErrKey, len(key), KeySize)
	}
	b, _ := aes.NewCipher(key) // fails only for another size
	gcm, err := cipher.NewGCMWithRandomNonce(b)
	return &Cipher{gcm}, err
}

// Seal encrypts plain under a random nonce. The tag also covers extra.
func (c *Cipher) Seal(plain, extra []byte) ([]byte, error) {
	if int64(len(plain)) > MaxPlain {
		return nil, fmt.Errorf("%w: %d bytes are more than one AES-GCM message can hold", tensor.ErrLimit, len(plain))
	}
	return c.gcm.Seal(nil, nil, plain, extra), nil
}

// OpenAt decrypts size bytes at offset off of a file into aligned memory. It
// reads them once, since the file may change. It fails with driver.ErrKey if
// they were not sealed with the same key and extra, and with tensor.ErrCorrupt
// if size is less than Overhead.
func (c *Cipher) OpenAt(file io.ReaderAt, off, size int64, extra []byte) ([]byte, error) {
	if size < Overhead {
		return nil, fmt.Errorf("%w: %d bytes where encryption alone takes %d", tensor.ErrCorrupt, size, Overhead)
	}
	if err := wire.CheckSize(size); err != nil {
		return nil, err
	}
	if err := wire.Prove(file, off+size); err != nil {
		return nil, err
	}
	b := memory.Aligned(int(size))
	if _, err := file.ReadAt(b, off); err != nil {
		return nil, err
	}
	plain, err := c.gcm.Open(b[:0], nil, b, extra)
	if err != nil {
		return nil, fmt.Errorf("wrong key, or the encrypted data was changed%.0w", tensor.ErrKey)
	}
	return plain[:len(plain):len(plain)], nil
}
