package cli

import (
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/weightmap/weightmap/internal/keys"
)

// keySize is the number of bytes of an AES-256 key.
const keySize = 32

// ErrKey says what is wrong with a key without repeating it: error messages end
// up in logs.
var ErrKey = errors.New("the key is not 64 hexadecimal digits")

// ParseKey reads the key of an encrypted file; without text there is none.
func ParseKey(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	key, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return nil, BadArgument(ErrKey)
	case len(key) != keySize:
		return nil, BadArgument(fmt.Errorf("%w: %s, not %d", ErrKey, Count(len(key), "byte"), keySize))
	}
	return key, nil
}

// ReadPublic reads the public key that -trust names; without a path there is
// none.
func ReadPublic(path string) (crypto.PublicKey, error) {
	if path == "" {
		return nil, nil
	}
	key, err := keys.ReadPublic(path)
	if err != nil {
		return nil, BadArgument(err)
	}
	return key, nil
}

// SignedBy says who signed and whether that means anything. claimed is the key
// that the file names, nil when it names none, and trusted the one that its
// signature was checked against, or nil.
func SignedBy(claimed, trusted crypto.PublicKey) string {
	who := "signed by "
	if trusted != nil {
		return who + fingerprint(trusted)
	}
	return who + fingerprint(claimed) + ", not checked against a trusted key"
}

// fingerprint names a key and says how.
func fingerprint(key crypto.PublicKey) string {
	text, err := keys.Fingerprint(key)
	if err != nil {
		return "a key the file does not name"
	}
	return "SHA256:" + text
}

// FileSize is the size of a file, or of the files in a directory.
func FileSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !st.IsDir() {
		return st.Size()
	}
	total, dir := int64(0), os.DirFS(path)
	_ = fs.WalkDir(dir, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be seen does not count
		}
		if st, err := fs.Stat(dir, name); err == nil && st.Mode().IsRegular() {
			total += st.Size()
		}
		return nil
	})
	return total
}
