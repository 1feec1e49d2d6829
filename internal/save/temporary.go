package save

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A file is assembled next to the file it will replace, under a hidden name with random digits:
//
//	.m.mag.0123456789ab.tmp
//
// The next writer of the same file removes those that are a day old: their writers were killed.
const (
	temporaryEnd = ".tmp"
	digits       = 12
	longest      = 100 // bytes of the final name in a temporary one
	abandoned    = 24 * time.Hour
)

// Shorten returns a file name that leaves room for additions. It cuts a long name and appends a hash
// of the whole name.
func Shorten(base string) string {
	if len(base) <= longest {
		return base
	}
	hash := fmt.Sprintf("~%016x", xxhash.Sum64String(base))
	return strings.ToValidUTF8(base[:longest-len(hash)], "") + hash
}

// temporary returns a temporary path for the file at path. It needs to be new, not secret: crypto/rand
// would add 150 kB to programs.
func temporary(path string) string {
	dir, base := filepath.Split(path)
	return dir + fmt.Sprintf(".%s.%0*x%s", Shorten(base), digits, rand.Uint64N(1<<(4*digits)), temporaryEnd)
}

// IsTemporary reports whether name is a temporary name for base, or for any file if base is "".
func IsTemporary(name, base string) bool {
	name, ok := strings.CutSuffix(name, temporaryEnd)
	at := len(name) - digits
	if !ok || at < 3 || !IsHex(name[at:]) || name[0] != '.' || name[at-1] != '.' {
		return false
	}
	return base == "" || name[1:at-1] == Shorten(base)
}

// IsHex reports whether s consists of lower-case hexadecimal digits.
func IsHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// temporaries returns the entries of a directory that have temporary names for base, or for any file
// if base is "".
func temporaries(dir, base string) (list []fs.FileInfo) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !IsTemporary(e.Name(), base) {
			continue
		}
		if st, err := e.Info(); err == nil {
			list = append(list, st)
		}
	}
	return list
}

func isAbandoned(st fs.FileInfo) bool { return time.Since(st.ModTime()) >= abandoned }

// Busy reports whether a writer may be active in a directory. A writer killed less than a day ago
// counts as active.
func Busy(dir string) bool {
	return slices.ContainsFunc(temporaries(dir, ""), func(st fs.FileInfo) bool { return !isAbandoned(st) })
}

// sweep removes the leftovers of killed writers of path, which are of the given type, by calling
// remove. It ignores errors: they must not fail the current writer.
func sweep(path string, typ fs.FileMode, remove func(name string) error) {
	dir, base := filepath.Split(path)
	for _, st := range temporaries(filepath.Clean(dir), base) {
		if st.Mode().Type() == typ && isAbandoned(st) {
			_ = remove(dir + st.Name())
		}
	}
}
