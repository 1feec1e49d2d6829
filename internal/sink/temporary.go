package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// A file is assembled next to the one it will replace, under a hidden name:
//
//	.m.mag.0123456789ab.tmp
//
// of which the digits are random. What a writer that was killed left behind is
// recognized by that name, and removed by the next writer of the same file once
// it is a day old.
const (
	temporaryEnd = ".tmp"
	digits       = 12
	longest      = 100 // of the part that is the file's own name, in bytes
)

// abandoned is the age from which a temporary file is nobody's.
const abandoned = 24 * time.Hour

// Shorten returns a file name to be built upon: names that are too long for that
// are cut, and told apart by a hash of all of them.
func Shorten(base string) string {
	if len(base) <= longest {
		return base
	}
	hash := fmt.Sprintf("~%016x", tensor.XXH64([]byte(base)))
	n := longest - len(hash)
	for n > 0 && !utf8.RuneStart(base[n]) {
		n--
	}
	return base[:n] + hash
}

// Temporary calls create with hidden names in a directory for a file of a given
// name until one is free. create must not take an existing file, so names need to
// differ, not to be secret: crypto/rand would add 150 kB to programs.
func Temporary(dir, base string, create func(name string) error) error {
	for range 1000 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%0*x%s", Shorten(base), digits, rand.Uint64N(1<<(4*digits)), temporaryEnd))
		if err := create(name); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("no free temporary name for %s: %w", base, fs.ErrExist)
}

// isTemporary reports whether name is one that Temporary makes for a file of that
// name, for any if base is "".
func isTemporary(name, base string) bool {
	name, ok := strings.CutSuffix(name, temporaryEnd)
	at := len(name) - digits
	if !ok || at < 3 || !IsHex(name[at:]) || name[0] != '.' || name[at-1] != '.' {
		return false
	}
	return base == "" || name[1:at-1] == Shorten(base)
}

// IsHex reports whether s consists of lower-case hexadecimal digits.
func IsHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// IsTemporary reports whether name is one that Temporary makes.
func IsTemporary(name string) bool { return isTemporary(name, "") }

// temporaries lists what is in a directory under temporary names for base.
func temporaries(dir, base string) (list []fs.FileInfo) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if isTemporary(name, base) {
			if st, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				list = append(list, st)
			}
		}
	}
	return list
}

// Busy reports whether somebody may be writing a file in a directory, or was killed
// doing so not long ago.
func Busy(dir string) bool {
	for _, st := range temporaries(dir, "") {
		if time.Since(st.ModTime()) < abandoned {
			return true
		}
	}
	return false
}

// sweep removes what killed writers of a file left, with remove. That it cannot is not
// the failure of the writer that tries.
func sweep(dir, base string, directories bool, remove func(name string) error) {
	for _, st := range temporaries(dir, base) {
		ours := st.Mode().IsRegular()
		if directories {
			ours = st.IsDir()
		}
		if ours && time.Since(st.ModTime()) >= abandoned {
			_ = remove(filepath.Join(dir, st.Name()))
		}
	}
}
