package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Dir is a directory being assembled next to the one it will replace.
type Dir struct {
	final       string
	temp        string   // "" once it has become final
	held        *os.File // the lock on it, nil without one
	old         fs.FileInfo
	replaceable func(dir string) error
}

// CreateDir starts the replacement of the directory at path, which need not exist
// and leads through no link. replaceable refuses directories with
// something in them that is not to be removed: it is asked about the old one, and
// about what killed writers left.
func CreateDir(path string, replaceable func(dir string) error) (*Dir, error) {
	d := &Dir{final: path, replaceable: replaceable}
	parent, base := filepath.Dir(path), filepath.Base(path)
	sweep(parent, base, true, d.discard)
	if st, err := os.Lstat(path); err == nil {
		d.old = st
	}
	var err error
	d.held, err = temporary(parent, base, func(name string) error {
		d.temp = name
		if d.old != nil {
			return mkdir(name, 0o700) // until it has the old one's permissions
		}
		return mkdir(name, 0o777)
	}, Remove)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// discard removes a directory that is not the model's any more.
func (d *Dir) discard(dir string) error {
	if err := d.replaceable(dir); err != nil {
		return err
	}
	return removeDir(dir)
}

// Write makes a file of the directory, like the one of the same name that is to go,
// and has fill write it. With sync it is on stable storage by then.
func (d *Dir) Write(name string, sync bool, fill func(t Target) error) error {
	old, err := os.Stat(filepath.Join(d.final, name))
	if err != nil || !old.Mode().IsRegular() {
		old = nil
	}
	h, err := create(filepath.Join(d.temp, name), newMode(old))
	if err != nil {
		return err
	}
	filled := false
	defer func() {
		if !filled { // with an error, or fill panicked
			_ = h.close()
		}
	}()
	inherit(h.f, old)
	if err := fill(h); err != nil {
		return err
	}
	filled = true
	return h.finish(sync)
}

// Commit makes the directory take the place of the old one, in one step where the
// system has such a step; see SetAside for where it has not. Errors are as for
// File.Commit; but Abort must follow in any case.
func (d *Dir) Commit(sync bool) error {
	if f, err := os.Open(d.temp); err == nil {
		inherit(f, d.old)
		_ = f.Close()
	}
	if sync {
		if err := SyncDir(d.temp); err != nil {
			return err
		}
	}
	was := d.claimOld()
	if was != nil {
		defer was.Close()
	}
	old, err := d.replace()
	if err != nil {
		return err
	}
	d.release()
	if sync {
		err = durably(filepath.Dir(d.final))
	}
	if old != "" {
		// The new directory is in place; what cannot be removed of the old one
		// is not a failure of writing.
		_ = removeDir(old)
	}
	return err
}

// claimOld locks the directory that is to go, which another writer must not take for one that was left when it has a
// temporary name. A writer that put it in place has it for a moment.
func (d *Dir) claimOld() *os.File {
	for range 100 {
		was, err := claim(d.final)
		if err != errClaimed || d.held == nil {
			return was
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// release ends the lock on the temporary directory, which has its final name or is gone.
func (d *Dir) release() {
	if d.held != nil {
		d.held.Close()
	}
}

// replace returns where the old directory is now, "" if there was none. What it
// contains is looked at under that name, where nobody adds to it any more.
func (d *Dir) replace() (old string, err error) {
	if _, err := os.Lstat(d.final); errors.Is(err, fs.ErrNotExist) {
		err := rename(d.temp, d.final)
		if err == nil {
			d.temp = ""
		}
		if !errors.Is(err, fs.ErrExist) { // else another writer was faster
			return "", err
		}
	}
	err = swap(d.temp, d.final)
	if errors.Is(err, errors.ErrUnsupported) {
		return d.replaceInTwo()
	}
	if err != nil {
		return "", err
	}
	if err := d.replaceable(d.temp); err != nil {
		return "", also(err, swap(d.temp, d.final))
	}
	old, d.temp = d.temp, ""
	return old, nil
}

// replaceInTwo moves the old directory aside first.
func (d *Dir) replaceInTwo() (old string, err error) {
	old = setAside(d.final)
	if _, err := os.Lstat(old); err == nil {
		// Somebody was killed when the new directory was in place already.
		if err := d.discard(old); err != nil {
			return "", err
		}
	}
	if err := rename(d.final, old); err != nil {
		return "", err
	}
	if err = d.replaceable(old); err == nil {
		err = rename(d.temp, d.final)
	}
	if err != nil {
		return "", also(err, rename(old, d.final))
	}
	d.temp = ""
	return old, nil
}

// also adds what went wrong while an error was undone.
func also(err, undo error) error {
	if undo == nil {
		return err
	}
	return errors.Join(err, undo)
}

// Abort removes what was not put in place.
func (d *Dir) Abort() error {
	defer d.release()
	if d.temp == "" {
		return nil
	}
	return removeDir(d.temp)
}

// setAside is where the directory at path is while another takes its place, on
// systems that cannot exchange the two.
func setAside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+Shorten(filepath.Base(path))+".weightmap-old")
}

// SetAside returns where the directory is that belongs at path if there is nothing
// because a writer was killed between moving the old one aside and moving the new one in.
func SetAside(path string) (aside string, ok bool) {
	final, err := Resolve(filepath.Clean(path))
	if err != nil {
		return "", false
	}
	aside = setAside(final)
	st, err := os.Lstat(aside)
	if err != nil || !st.IsDir() {
		return "", false
	}
	_, err = os.Lstat(final)
	return aside, errors.Is(err, fs.ErrNotExist)
}

// Restore puts back what SetAside finds.
func Restore(path string) error {
	aside, ok := SetAside(path)
	if !ok {
		return nil
	}
	final, err := Resolve(filepath.Clean(path))
	if err != nil {
		return err
	}
	return rename(aside, final)
}
