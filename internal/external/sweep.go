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

// claims counts the writers of this program whose data is in place, by path, while their models
// are not. Another writer may take such data for that of an old model, and must not remove it.
// The lock is held while data is removed. Other programs are not seen.
var claims = struct {
	sync.Mutex
	writers map[string]int
}{writers: map[string]int{}}

// claim keeps data from being removed until release.
func (x *File) claim() {
	claims.Lock()
	defer claims.Unlock()
	x.place = x.at(x.Location)
	claims.writers[filepath.Base(x.place)]++
}

// release ends that, with claims locked.
func (x *File) release() {
	if x.place == "" {
		return
	}
	if base := filepath.Base(x.place); claims.writers[base] > 1 {
		claims.writers[base]--
	} else {
		delete(claims.writers, base)
	}
}

// Committed says that the model is in place. If it will stay there, older generations of the
// data that no model names any more are removed. While somebody seems to write a model in these
// directories, whose data may be there already, only those of the model that was replaced are.
// None is removed if a model cannot be read. What cannot be removed stays.
func (x *File) Committed(durable bool) {
	claims.Lock()
	defer claims.Unlock()
	x.release()
	x.place, x.added, x.made = "", false, nil
	if !durable {
		return // a crash of the system may bring the old model back
	}
	old := x.generations()
	if slices.ContainsFunc(x.places(), save.Busy) {
		old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return !contains(x.former, o) })
	}
	x.removeUnnamed(old, true)
}

// places lists the directories where a model may be that names the data.
func (x *File) places() []string {
	dirs := x.dirs()
	if real, err := save.Resolve(x.model); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// removeUnnamed removes those data files that no model names and no writer claims, with claims locked.
// With certain it removes none if a model cannot be read, nor what one names that somebody is writing;
// without, that may be the one that is given up.
func (x *File) removeUnnamed(old []os.FileInfo, certain bool) {
	old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return claims.writers[o.Name()] > 0 })
	for _, dir := range x.places() {
		if len(old) == 0 {
			return
		}
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if x.isGeneration(e.Name()) || !certain && save.IsTemporary(e.Name()) {
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

// generations lists the data files of the same name but for the generation. They are looked at
// by name: on Windows the identity that a listing gives may be another than the file's.
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

// namedBy lists the files that a file names if it is a model of the format.
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

// isModel goes by name, and by content where that says nothing.
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
	head := make([]byte, driver.SniffLen)
	n, err := f.ReadAt(head, 0)
	if err == io.EOF {
		err = nil
	}
	return err == nil && x.format.Detect(head[:n], st.Size()), err
}
