package save

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

	"github.com/cespare/xxhash/v2"
)

// A file is assembled next to the one it will replace, under a hidden name:
//
//	.m.mag.0123456789ab.tmp
//
// of which the digits are random. A writer locks it where locks can be relied on, and then the first digit
// is 8 or more. What a killed writer left is recognized by the name: the next writer in the
// directory removes it at once if it was locked and is not any more, and otherwise, once it is a day old, the
// next writer of the same file.
const (
	temporaryEnd = ".tmp"
	digits       = 12
	longest      = 100 // of the part that is the file's own name, in bytes
)

// abandoned is the age from which a temporary file without a lock may be removed.
const abandoned = 24 * time.Hour

// errClaimed is the error of what another writer has locked.
var errClaimed = errors.New("another writer has it")

// Shorten returns a file name to be built upon: names that are too long for that
// are cut, and told apart by a hash of all of them.
func Shorten(base string) string {
	if len(base) <= longest {
		return base
	}
	hash := fmt.Sprintf("~%016x", xxhash.Sum64String(base))
	n := longest - len(hash)
	for n > 0 && !utf8.RuneStart(base[n]) {
		n--
	}
	return base[:n] + hash
}

// temporary calls create with hidden names in a directory for a file of a given
// name until one is free, and locks it for as long as the file that is returned is open, nil where
// it cannot be locked. create must not take an existing file, so names need to
// differ, not to be secret: crypto/rand would add 150 kB to programs.
func temporary(dir, base string, create, remove func(name string) error) (held *os.File, err error) {
	locked := uint64(0)
	if lockable(dir) {
		locked = 1
	}
	for range 1000 {
		number := rand.Uint64N(1<<(4*digits-1)) | locked<<(4*digits-1)
		name := filepath.Join(dir, fmt.Sprintf(".%s.%0*x%s", Shorten(base), digits, number, temporaryEnd))
		err := create(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil || locked == 0 {
			return nil, err
		}
		if held, err = claim(name); err == nil {
			return held, nil
		}
		// Somebody looks whether it is left, or it cannot be locked after all.
		if err := remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != errClaimed {
			locked = 0
		}
	}
	return nil, fmt.Errorf("no free temporary name for %s: %w", base, fs.ErrExist)
}

// isTemporary reports whether name is one that temporary makes for a file of that
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

// IsTemporary reports whether name is one that temporary makes.
func IsTemporary(name string) bool { return isTemporary(name, "") }

// isLocked reports whether a temporary name is that of something that its writer has locked.
func isLocked(name string) bool { return name[len(name)-len(temporaryEnd)-digits] >= '8' }

// temporaries lists what is in a directory under temporary names.
func temporaries(dir string) (list []fs.FileInfo) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if IsTemporary(name) {
			if st, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				list = append(list, st)
			}
		}
	}
	return list
}

// Busy reports whether somebody may be writing a file in a directory, or was killed
// doing so not long ago where that cannot be told.
func Busy(dir string) bool {
	locks := lockable(dir)
	for _, st := range temporaries(dir) {
		if locks && isLocked(st.Name()) {
			held, err := claim(filepath.Join(dir, st.Name()))
			if err == nil {
				held.Close()
				continue
			}
		}
		if time.Since(st.ModTime()) < abandoned {
			return true
		}
	}
	return false
}

// sweep removes what killed writers left in a directory, with remove. That it cannot is not
// the failure of the writer that tries.
func sweep(dir, base string, directories bool, remove func(name string) error) {
	locks := lockable(dir)
	for _, st := range temporaries(dir) {
		path := filepath.Join(dir, st.Name())
		switch {
		case directories != st.IsDir() || !directories && !st.Mode().IsRegular():
		case locks && isLocked(st.Name()):
			if held, err := claim(path); err == nil {
				_ = remove(path)
				held.Close()
			}
		case isTemporary(st.Name(), base) && time.Since(st.ModTime()) >= abandoned:
			_ = remove(path)
		}
	}
}
