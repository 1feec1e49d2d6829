package external

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
)

// Committed says that the model is in place. If it will stay there, older generations
// of the data that no model names any more are removed, by name: all of them, or, while
// somebody seems to write a model in these directories, whose data may be there already,
// those of the model that was replaced. None is if a model cannot be read. What cannot
// be removed stays.
func (x *File) Committed(durable bool) {
	claims.Lock()
	defer claims.Unlock()
	x.release()
	x.placed, x.made = "", nil
	if !durable {
		return // a crash of the system may bring the old model back
	}
	old := x.generations()
	if slices.ContainsFunc(x.places(), sink.Busy) {
		old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return !contains(x.former, o) })
	}
	x.removeUnnamed(old, true)
}

// places lists the directories where a model may be that names the data.
func (x *File) places() []string {
	dirs := x.dirs()
	if real, err := sink.Resolve(x.model); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// removeUnnamed removes those data files that no model names and no writer claims, with claims held.
// With certain it removes none if a model cannot be read, nor what one names that somebody is writing;
// without, that may be the one that is given up.
func (x *File) removeUnnamed(old []os.FileInfo, certain bool) {
	old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return claims.names[o.Name()] > 0 })
	for _, dir := range x.places() {
		if len(old) == 0 {
			return
		}
		named, err := x.named(dir, certain)
		if err != nil && certain {
			return
		}
		old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return contains(named, o) })
	}
	for _, o := range old {
		_ = sink.Remove(filepath.Join(x.at(x.below), o.Name()))
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

// named lists the files that the models in a directory name, as far as they can be read, with those
// that are not in place yet or without.
func (x *File) named(dir string, begun bool) (list []os.FileInfo, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if x.isGeneration(e.Name()) || !begun && sink.IsTemporary(e.Name()) {
			continue
		}
		files, unread := x.namedBy(filepath.Join(dir, e.Name()))
		list, err = append(list, files...), cmp.Or(err, unread)
	}
	return list, err
}

// namedBy lists the files that a file names if it is a model of the format.
func (x *File) namedBy(path string) (list []os.FileInfo, err error) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil, nil
	}
	if ours, err := x.isModel(path); !ours {
		return nil, err
	}
	m, err := x.format.Codec.Open(path, x.format.Options)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	for _, l := range x.format.Locations(x.format.Codec.Own(m)) {
		if st, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(l))); err == nil {
			list = append(list, st)
		}
	}
	return list, nil
}

// isModel goes by content, and by name where that says nothing.
func (x *File) isModel(path string) (bool, error) {
	if slices.Contains(x.format.Codec.Extensions(), strings.ToLower(filepath.Ext(path))) {
		return true, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	head := make([]byte, driver.SniffLen)
	n, err := f.ReadAt(head, 0)
	if err == io.EOF {
		err = nil
	}
	return err == nil && x.format.Codec.Detect(head[:n], st.Size()), err
}
