// Package seal encrypts and decrypts parts of files with AES-256-GCM:
//
//	nonce(12) || ciphertext || tag(16)
//
// What is decrypted comes from files that nobody vouches for, and is
// authenticated as a whole: nothing is returned before the tag was checked.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
)

// Sizes in bytes.
const (
	KeySize   = 32
	NonceSize = 12
	TagSize   = 16
	Overhead  = NonceSize + TagSize
	MaxPlain  = 1<<36 - 32 // that one message can hold
)

// Cipher encrypts and decrypts with one key. It is safe for concurrent use.
type Cipher struct{ gcm cipher.AEAD }

// New makes the Cipher of a key. One of another size is driver.ErrKey, and so
// is none.
func New(key []byte) (*Cipher, error) {
	switch {
	case key == nil:
		return nil, fmt.Errorf("%w: none was given", driver.ErrKey)
	case len(key) != KeySize:
		return nil, fmt.Errorf("%w: it has %d bytes, AES-256 takes %d", driver.ErrKey, len(key), KeySize)
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", driver.ErrKey, err)
	}
	gcm, err := cipher.NewGCM(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", driver.ErrKey, err)
	}
	return &Cipher{gcm}, nil
}

// Seal encrypts under a random nonce. The tag covers extra too.
func (c *Cipher) Seal(plain, extra []byte) ([]byte, error) {
	if int64(len(plain)) > MaxPlain {
		return nil, fmt.Errorf("%w: %d bytes are more than one AES-GCM message can hold", driver.ErrLimit, len(plain))
	}
	out := make([]byte, NonceSize, len(plain)+Overhead)
	rand.Read(out)
	return c.gcm.Seal(out, out, plain, extra), nil
}

// OpenAt is Open for size bytes at off of a file, which are read where they are decrypted.
func (c *Cipher) OpenAt(file io.ReaderAt, off, size int64, extra []byte) ([]byte, error) {
	if size < Overhead {
		return nil, tooShort(size)
	}
	if err := wire.CheckSize(size); err != nil {
		return nil, err
	}
	if err := wire.Prove(file, off+size); err != nil {
		return nil, err
	}
	b := buffer(size)
	if _, err := file.ReadAt(b, off); err != nil {
		return nil, err
	}
	return c.open(b, extra)
}

// Open decrypts into aligned memory of its own, and reads what is sealed once:
// it may be in a file that changes. Whatever was not made by Seal with the same
// key and extra is driver.ErrKey, what is too short driver.ErrCorrupt.
func (c *Cipher) Open(sealed, extra []byte) ([]byte, error) {
	if len(sealed) < Overhead {
		return nil, tooShort(int64(len(sealed)))
	}
	b := buffer(int64(len(sealed)))
	copy(b, sealed)
	return c.open(b, extra)
}

func tooShort(n int64) error {
	return fmt.Errorf("%w: %d bytes where encryption alone takes %d", driver.ErrCorrupt, n, Overhead)
}

// buffer returns memory in which what is decrypted is aligned.
func buffer(n int64) []byte {
	const skip = memory.Alignment - NonceSize
	return memory.Aligned(skip + int(n))[skip:]
}

// open decrypts in place.
func (c *Cipher) open(b, extra []byte) ([]byte, error) {
	plain, err := c.gcm.Open(b[NonceSize:NonceSize], b[:NonceSize], b[NonceSize:], extra)
	if err != nil {
		return nil, fmt.Errorf("%w, or what it encrypts was tampered with", driver.ErrKey)
	}
	return plain[:len(plain):len(plain)], nil
}
