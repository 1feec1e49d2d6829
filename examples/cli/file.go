package cli

import (
	"crypto"
	"io/fs"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// Signed describes the signature of a verified file and whether it is trusted; it returns "" for an
// unsigned file. s is the signature in the file, and trusted the key that it was verified with, if
// any.
func Signed(state format.SignatureState, s *schema.Signature, trusted crypto.PublicKey) string {
	switch {
	case state == format.SignatureTrusted:
		return "signed by " + Fingerprint(trusted)
	case state == format.SignatureUnknown && s != nil:
		return "signed by " + Fingerprint(s.PublicKey) + ", not checked against a trusted key"
	}
	return ""
}

// Dropped returns a suffix for a message about a written file: that its source was encrypted or
// signed and the new file is not.
func Dropped(encrypted, signed bool) string {
	text := ""
	if encrypted {
		text += ", not encrypted any more"
	}
	if signed {
		text += ", not signed any more"
	}
	return text
}

// FileSize returns the size of a file, or of all files in a directory.
func FileSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !st.IsDir() {
		return st.Size()
	}
	total := int64(0)
	dir := os.DirFS(path)
	_ = fs.WalkDir(dir, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // ignore what cannot be read
		}
		if st, err := fs.Stat(dir, name); err == nil && st.Mode().IsRegular() {
			total += st.Size()
		}
		return nil
	})
	return total
}
