package cli

import (
	"crypto"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"github.com/weightmap/weightmap/format"
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

// ReadPrivate reads the private key to sign with.
func ReadPrivate(path string) (crypto.Signer, error) {
	key, err := keys.ReadPrivate(path)
	if err != nil {
		return nil, BadArgument(err)
	}
	return key, nil
}

// KeyFlag adds -key, for ParseKey.
func KeyFlag(f *flag.FlagSet) *string {
	return f.String("key", "", "key of an encrypted file, `HEX` of 64 digits")
}

// TrustFlag adds -trust, for ReadPublic.
func TrustFlag(f *flag.FlagSet) *string {
	return f.String("trust", "", "public key that must have signed the files, in a `PUB.pem`")
}

// Signed says who signed a file that was verified and whether that means anything,
// nothing for an unsigned file. s is what the file says, and trusted the key that
// its signature was checked against, if any.
func Signed(state format.SignatureState, s *format.Signature, trusted crypto.PublicKey) string {
	switch {
	case state == format.SignatureTrusted:
		return "signed by " + Fingerprint(trusted)
	case state == format.SignatureUnknown && s != nil:
		return "signed by " + Fingerprint(s.PublicKey) + ", not checked against a trusted key"
	}
	return ""
}

// Fingerprint names a key and says how.
func Fingerprint(key crypto.PublicKey) string {
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
