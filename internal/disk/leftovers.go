package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// abandoned is the age at which a file under a hidden name counts as left by a killed writer.
const abandoned = 24 * time.Hour

// mostSwept limits the memory of a process that writes to ever new directories.
const mostSwept = 1 << 12

// swept has the directories whose leftovers this process has removed. Once is enough: to list a
// directory of 16,000 files takes a hundred times as long as to create a file in it.
var swept = struct {
	sync.Mutex
	dirs   map[string]bool
	killed map[string]bool // directories in which there were leftovers
}{dirs: map[string]bool{}, killed: map[string]bool{}}

// isFirst reports whether this process comes to a directory for the first time. kind tells apart
// what is removed there.
func isFirst(dir, kind string) bool {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	key := kind + "\x00" + abs
	swept.Lock()
	defer swept.Unlock()
	if swept.dirs[key] {
		return false
	}
	if len(swept.dirs) >= mostSwept {
		clear(swept.dirs)
		clear(swept.killed)
	}
	swept.dirs[key] = true
	return true
}

// ForgetSwept makes the next writer in each directory remove leftovers again. It is for tests.
func ForgetSwept() {
	swept.Lock()
	defer swept.Unlock()
	clear(swept.dirs)
	clear(swept.killed)
}

// hadLeftovers reports whether this process has removed leftovers of killed writers from a
// directory.
func hadLeftovers(dir string) bool {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	swept.Lock()
	defer swept.Unlock()
	return swept.killed[abs]
}

// removeLeftovers removes the files that killed writers left in a directory, the first time that it
// is called for it. A file that has another name stays: its writer died while it published, and
// only a writer of the same model knows whether that name is in use. removeLeftovers ignores
// errors: they must not fail the current writer.
func removeLeftovers(dir string) {
	if !isFirst(dir, "") {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	left := findLeftovers(entries, 0)
	if len(left) == 0 {
		return
	}
	names := namesOf(dir, entries, left)
	for i, info := range left {
		if names[i] == "" {
			_ = Remove(filepath.Join(dir, info.Name()))
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	swept.Lock()
	defer swept.Unlock()
	swept.killed[abs] = true
}

// namesOf returns, for each file with a hidden name, another name of it in the directory, or "".
func namesOf(dir string, entries []fs.DirEntry, hidden []fs.FileInfo) []string {
	names := make([]string, len(hidden))
	for _, e := range entries {
		if IsHidden(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info := lstat(filepath.Join(dir, e.Name()))
		for i := range hidden {
			if info != nil && os.SameFile(info, hidden[i]) {
				names[i] = e.Name()
			}
		}
	}
	return names
}

// sameAs returns the path of the hidden file that is the same as a file, or "".
func sameAs(file fs.FileInfo, dir string, hidden []fs.FileInfo) string {
	for _, info := range hidden {
		if os.SameFile(info, file) {
			return filepath.Join(dir, info.Name())
		}
	}
	return ""
}

// removeLeftoverTrees is removeLeftovers for directories. It removes only those whose files all end
// in extension.
func removeLeftoverTrees(dir, extension string) {
	if !isFirst(dir, extension) {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, info := range findLeftovers(entries, fs.ModeDir) {
		removeTree(filepath.Join(dir, info.Name()), extension, time.Now().Add(-abandoned))
	}
}

// findLeftovers returns what killed writers left in a directory, of a type of file. A writer with a
// younger file counts as alive.
func findLeftovers(entries []fs.DirEntry, typ fs.FileMode) (left []fs.FileInfo) {
	var found []fs.FileInfo
	alive := map[string]bool{}
	for _, e := range entries {
		if !IsHidden(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		os.SameFile(info, info) // Windows reads what identifies a file lazily, by its name: now
		found = append(found, info)
		if time.Since(info.ModTime()) < abandoned {
			alive[writerOf(info.Name())] = true
		}
	}
	for _, info := range found {
		if info.Mode().Type() == typ && !alive[writerOf(info.Name())] {
			left = append(left, info)
		}
	}
	return left
}

// removeTree removes a directory if the names of its files all end in extension and no file is
// younger than a time. It stops at the first that it cannot remove.
func removeTree(name, extension string, last time.Time) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.ModTime().After(last) || !strings.HasSuffix(e.Name(), extension) {
			return
		}
	}
	for _, e := range entries {
		if err := Remove(filepath.Join(name, e.Name())); err != nil {
			return
		}
	}
	_ = Remove(name)
}

// HasWriters reports whether a writer may be active in a directory. A writer killed less than a day
// ago counts as active.
func HasWriters(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !IsHidden(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) < abandoned {
			return true
		}
	}
	return false
}
