package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// File is a Target in a temporary file next to the one it will replace, so that
// the replacement is one rename: readers see the old file or the new one,
// and a mapping of the old one is not disturbed.
type File struct {
	*os.File
	final string
}

// Sequential is false.
func (f *File) Sequential() bool { return false }

// CreateFile starts the replacement of path, which need not exist. A symbolic
// link is followed; what is not a regular file is refused. The new file gets
// the permissions of the old one, or what the umask leaves.
func CreateFile(path string) (*File, error) {
	final, err := resolve(path)
	if err != nil {
		return nil, err
	}
	mode, exists := fs.FileMode(0o666), true
	switch st, err := os.Stat(final); {
	case errors.Is(err, fs.ErrNotExist):
		exists = false
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
	default:
		mode = st.Mode().Perm()
	}
	f, err := temporary(final, mode)
	if err != nil {
		return nil, err
	}
	if exists {
		// Against the umask. File systems without permissions refuse this, and
		// need it not.
		_ = f.Chmod(mode)
	}
	return &File{File: f, final: final}, nil
}

// resolve follows symbolic links, the last of which may point to nothing: then
// the file is to appear there.
func resolve(path string) (string, error) {
	const most = 40 // as many as Linux follows
	for range most {
		final, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return final, err
		}
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, and nothing there yet
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: too many symbolic links: %w", path, os.ErrInvalid)
}

// temporary creates a new hidden file whose permissions the umask limits, as
// they would be for the final file (os.CreateTemp gives it to the owner alone).
func temporary(final string, mode fs.FileMode) (f *os.File, err error) {
	_, err = Beside(final, func(name string) error {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return f, err
}

// Beside calls create with hidden names in the directory of path until one is
// free, and returns that name. create must not take an existing file, so names
// need to differ, not to be secret: crypto/rand would add 150 kB to programs.
func Beside(path string, create func(name string) error) (string, error) {
	for range 1000 {
		random := strconv.FormatUint(rand.Uint64N(1<<48), 16)
		name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+random+".tmp")
		if err := create(name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fmt.Errorf("no free temporary name next to %s: %w", path, fs.ErrExist)
}

// Commit makes the file take the place of the old one. With sync it is on
// stable storage by then. After a failure the temporary file is gone and the
// old file as it was.
func (f *File) Commit(sync bool) error {
	var err error
	if sync {
		err = f.Sync()
	}
	if e := f.File.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), f.final)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if sync {
		SyncDir(filepath.Dir(f.final))
	}
	return nil
}

// SyncDir makes a rename durable where directories can be synced. Where they
// cannot, the rename has still happened, so its failure is not the writer's.
func SyncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Abort removes the temporary file.
func (f *File) Abort() {
	f.File.Close()
	os.Remove(f.Name())
}

// Spool is a Target in a temporary file without a name to come.
type Spool struct{ *os.File }

// NewSpool creates one in the system's directory for temporary files.
func NewSpool() (*Spool, error) {
	f, err := os.CreateTemp("", "weightmap-*.spool")
	if err != nil {
		return nil, err
	}
	return &Spool{f}, nil
}

// Sequential is false.
func (s *Spool) Sequential() bool { return false }

// Remove deletes the file.
func (s *Spool) Remove() {
	s.File.Close()
	os.Remove(s.Name())
}
