package disk

import (
	"crypto"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// NameDigest is the digest in the name of a file, or of what its link leads to.
type NameDigest struct {
	Hash crypto.Hash
	Hex  string
	Must bool // the file must have it: otherwise the digits may mean something else
}

const (
	sha256Digits = 64
	sha1Digits   = 40
	ollamaName   = "sha256-"
	blobsName    = "blobs"
)

// DigestIn returns the digest in a name with slashes. It has no digits if there is none.
func DigestIn(name string) NameDigest {
	dir, base := path.Split(name)
	isBlob := path.Base(dir) == blobsName
	digits, isOllama := strings.CutPrefix(base, ollamaName)
	switch {
	case isDigest(digits) && len(digits) == sha256Digits && (isOllama || isBlob):
		return NameDigest{crypto.SHA256, digits, true}
	case isDigest(base) && len(base) == sha1Digits && isBlob:
		return NameDigest{crypto.SHA1, base, true}
	}
	for word := range strings.FieldsFuncSeq(base, func(r rune) bool { return strings.IndexByte("-_. ", byte(r)) >= 0 }) {
		if isDigest(word) && len(word) == sha256Digits {
			return NameDigest{crypto.SHA256, word, false}
		}
	}
	return NameDigest{}
}

// isDigest reports whether all of s are digits as caches write them.
func isDigest(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// New returns a hash of a file of that size that is named by the digest. For SHA-1, the name is
// that of an object of git.
func (d NameDigest) New(size int64) hash.Hash {
	h := d.Hash.New()
	if d.Hash == crypto.SHA1 {
		fmt.Fprintf(h, "blob %d\x00", size)
	}
	return h
}

// String returns the kind of digest.
func (d NameDigest) String() string {
	if d.Hash == crypto.SHA1 {
		return "git sha1 in the name"
	}
	return "sha256 in the name"
}

// mostNamedLinks is the number of links that are followed to the name of a file.
const mostNamedLinks = 40

// LastName returns the name, with slashes, of what a file's name leads to, in a file system or, if
// that is nil, on disk.
func LastName(fsys fs.FS, name string) string {
	if fsys == nil {
		final, err := filepath.EvalSymlinks(name)
		if err != nil {
			return filepath.ToSlash(name)
		}
		return filepath.ToSlash(final)
	}
	for range mostNamedLinks {
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			break
		}
		name = path.Join(path.Dir(name), target)
	}
	return name
}
