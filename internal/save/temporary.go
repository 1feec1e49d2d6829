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

// A file is assembled next to the file it will replace, under a hidden name with random digits:
//
//	.m.mag.0123456789ab.tmp
//
// The writer locks it where locks are reliable; then the first digit is 8 or more. Writers recognize
// the leftovers of killed writers by name. The next writer in the directory removes a leftover that
// was locked and no longer is. Others must be a day old, and are removed by the next writer of the
// same file.
const (
	temporaryEnd = ".tmp"
	digits       = 12
	longest      = 100 // bytes of the final name in a temporary one
)

// abandoned is the age from which an unlocked temporary file may be removed.
const abandoned = 24 * time.Hour

// errClaimed means that another writer holds the lock.
var errClaimed = errors.New("another writer has it")

// Shorten returns a file name that leaves room for additions. It cuts a long name and appends a hash
// of the whole name.
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

// temporary calls create with hidden names in dir, derived from base, until one is free. It locks the
// new file until held is closed; held is nil if the file cannot be locked. create must fail if the
// file exists. Names need to differ, not to be secret: crypto/rand would add 150 kB to programs.
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
		// Another writer is checking whether the file is abandoned, or locks do not work here.
		if err := remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != errClaimed {
			locked = 0
		}
	}
	return nil, fmt.Errorf("no free temporary name for %s: %w", base, fs.ErrExist)
}

// isTemporary reports whether name is a temporary name for base, or for any file if base is "".
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

// IsTemporary reports whether name is a temporary name that this package makes.
func IsTemporary(name string) bool { return isTemporary(name, "") }

// isLocked reports whether a temporary name says that its writer locked the file.
func isLocked(name string) bool { return name[len(name)-len(temporaryEnd)-digits] >= '8' }

// temporaries returns the entries of a directory that have temporary names.
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

// Busy reports whether a writer may be active in a directory. Where locks do not tell, a writer killed
// less than a day ago counts as active.
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

// sweep removes the leftovers of killed writers in a directory, by calling remove. It ignores errors:
// they must not fail the current writer.
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
