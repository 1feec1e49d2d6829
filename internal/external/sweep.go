package external

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/save"
)

// claims holds the names of data files that are in place but whose models are not, by the writers
// in this process. Other writers must not mistake such a file for data of an old model and remove
// it. The lock is held while files are removed. Other processes are not considered.
var claims = struct {
	sync.Mutex
	names map[*File]string
}{names: map[*File]string{}}

// claim protects the file from removal until it is deleted from claims.
func (x *File) claim() {
	claims.Lock()
	defer claims.Unlock()
	x.place = x.at(x.Location)
	claims.names[x] = filepath.Base(x.place)
}

// Committed is called when the model is in place. If durable is set, it removes older generations
// of the data that no model names any more. If another writer seems to be active in these
// directories, it removes only the data of the replaced model, since the other's data may already
// be in place. It removes nothing if a model cannot be read. Files that cannot be removed stay.
func (x *File) Committed(durable bool) {
	claims.Lock()
	defer claims.Unlock()
	delete(claims.names, x)
	x.added, x.made = false, nil
	if !durable {
		return // a system crash may bring the old model back
	}
	old := x.generations()
	if slices.ContainsFunc(x.places(), save.Busy) {
		old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return !contains(x.former, o) })
	}
	x.removeUnnamed(old, true)
}

// places returns the directories that may have models which name the data.
func (x *File) places() []string {
	dirs := x.dirs()
	if real, err := save.Resolve(x.model); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// removeUnnamed removes the files of old that no model names and no writer claims. The caller must
// hold the lock of claims. If certain is set, it removes nothing when a model cannot be read, and
// nothing that a model being written names. Otherwise it ignores models being written, since one
// of them may be the model that is being aborted.
func (x *File) removeUnnamed(old []os.FileInfo, certain bool) {
	for _, name := range claims.names {
		old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return o.Name() == name })
	}
	for _, dir := range x.places() {
		if len(old) == 0 {
			return
		}
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if x.isGeneration(e.Name()) || !certain && save.IsTemporary(e.Name(), "") {
				continue
			}
			named, unread := x.namedBy(filepath.Join(dir, e.Name()))
			old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return contains(named, o) })
			err = cmp.Or(err, unread)
		}
		if err != nil && certain {
			return
		}
	}
	for _, o := range old {
		_ = save.Remove(filepath.Join(x.at(x.below), o.Name()))
	}
}

func contains(list []os.FileInfo, file os.FileInfo) bool {
	return slices.ContainsFunc(list, func(f os.FileInfo) bool { return os.SameFile(f, file) })
}

// generations returns the data files whose names differ only in the generation. It stats each by
// name, since on Windows a directory listing may report another file identity.
func (x *File) generations() (list []os.FileInfo) {
	dir := x.at(x.below)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !x.isGeneration(e.Name()) {
			continue
		}
		if st, err := os.Lstat(filepath.Join(dir, e.Name())); err == nil && st.Mode().IsRegular() {
			list = append(list, st)
		}
	}
	return list
}

// namedBy returns the files that the file at path names, if it is a model of the format.
func (x *File) namedBy(path string) (list []os.FileInfo, err error) {
	if ours, err := x.isModel(path); !ours {
		return nil, err
	}
	locations, err := x.format.Locations(path)
	for _, l := range locations {
		if st, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(l))); err == nil {
			list = append(list, st)
		}
	}
	return list, err
}

// isModel reports whether a file is a model of the format by its extension, or else by content.
func (x *File) isModel(path string) (bool, error) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false, nil
	}
	if slices.Contains(x.format.Describe().Extensions, strings.ToLower(filepath.Ext(path))) {
		return true, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, driver.SniffLen))
	return err == nil && x.format.Detect(head, st.Size()), err
}
