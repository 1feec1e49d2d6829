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
	"github.com/weightmap/weightmap/internal/disk"
)

// claims holds the names of data files that are in place but whose models are not, by the writers
// in this process. Other writers must not mistake such a file for data of an old model and remove
// it. Other processes are not considered.
var claims = map[*File]string{}

// claiming guards claims. It is held while files are removed.
var claiming sync.Mutex

// Committed is called when the model is in place. If durable is set, it removes older generations
// of the data that no model names any more. If another writer seems to be active in these
// directories, it removes only the data of the replaced model, since the other's data may already
// be in place. It removes nothing if a model cannot be read. Files that cannot be removed stay.
func (x *File) Committed(durable bool) {
	claiming.Lock()
	defer claiming.Unlock()
	delete(claims, x)
	x.added, x.made = false, nil
	if !durable {
		return // a system crash may bring the old model back
	}
	var old []os.FileInfo
	dir, busy := x.at(x.below), slices.ContainsFunc(x.dirs(), disk.HasWriters)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if x.isGeneration(e.Name()) {
			// On Windows a listing may report another file identity.
			st, err := os.Lstat(filepath.Join(dir, e.Name()))
			if err == nil && st.Mode().IsRegular() && (!busy || contains(x.former, st)) {
				old = append(old, st)
			}
		}
	}
	x.removeUnnamed(old, true)
}

// removeUnnamed removes the files of old that no model names and no writer claims. The caller must
// hold the lock claiming. If certain is set, it removes nothing when a model cannot be read, and
// nothing that a model being written names. Otherwise it ignores models being written, since one
// of them may be the model that is being aborted.
func (x *File) removeUnnamed(old []os.FileInfo, certain bool) {
	for _, name := range claims {
		old = slices.DeleteFunc(old, func(o os.FileInfo) bool { return o.Name() == name })
	}
	for _, dir := range x.dirs() {
		if len(old) == 0 {
			return
		}
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if x.isGeneration(e.Name()) || !certain && disk.IsHidden(e.Name()) {
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
		_ = disk.Remove(filepath.Join(x.at(x.below), o.Name()))
	}
}

func contains(list []os.FileInfo, file os.FileInfo) bool {
	return slices.ContainsFunc(list, func(f os.FileInfo) bool { return os.SameFile(f, file) })
}

type model interface {
	Files() []string
	Close() error
}

// FilesOf closes a model that was just opened and returns the paths of its files.
func FilesOf(m model, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return m.Files(), m.Close()
}

// namedBy returns the files that the file at path names, if it is a model of the format by its
// extension, or else by content.
func (x *File) namedBy(path string) (list []os.FileInfo, err error) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, driver.SniffLen))
	extension := strings.ToLower(filepath.Ext(path))
	named := slices.Contains(x.format.Describe().Extensions, extension)
	if err != nil || !named && !x.format.Detect(head, st.Size()) {
		return nil, err
	}
	paths, err := x.files(path)
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil {
			list = append(list, st)
		}
	}
	return list, err
}
