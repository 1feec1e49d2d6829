package disk

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// A file is assembled next to the file it will replace, under a hidden name: that of the file,
// eight random digits for the writer, and four for its file.
//
//	.m.mag.0123456789ab.tmp
const (
	hiddenEnd    = ".tmp"
	digits       = 12
	writerDigits = 8
	longest      = 100 // bytes of the final name in a hidden one
)

// Shorten returns a file name that leaves room for additions. It cuts a long name and appends a
// hash of the whole name.
func Shorten(base string) string {
	if len(base) <= longest {
		return base
	}
	hash := fmt.Sprintf("~%016x", xxhash.Sum64String(base))
	return strings.ToValidUTF8(base[:longest-len(hash)], "") + hash
}

// newWriter returns the number of a writer. It needs to be new, not secret: crypto/rand would add
// 150 kB to programs.
func newWriter() uint32 { return rand.Uint32() }

// hiddenName returns a hidden path for the file at path.
func hiddenName(path string, writer uint32, file uint16) string {
	dir, base := filepath.Split(path)
	return dir + fmt.Sprintf(".%s.%08x%04x%s", Shorten(base), writer, file, hiddenEnd)
}

// IsHidden reports whether hiddenName returns such names.
func IsHidden(name string) bool {
	name, ok := strings.CutSuffix(name, hiddenEnd)
	at := len(name) - digits
	return ok && at >= 3 && IsHex(name[at:]) && name[0] == '.' && name[at-1] == '.'
}

// writerOf returns the digits of the writer in a hidden name.
func writerOf(name string) string {
	at := len(name) - len(hiddenEnd) - digits
	return name[at : at+writerDigits]
}

// IsHex reports whether s consists of lower-case hexadecimal digits.
func IsHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
