package disk

import (
	"errors"
	"path/filepath"
	"slices"
)

// PublishAll renames finished files into place. The last file is the index that names the others: its
// rename publishes the model. If mixes is set, some of the others replace files that the old index
// names, so the old index is set aside first and no reader sees a mixture of both models. It returns
// the errors that Commit documents.
func PublishAll(files []*File, sync, mixes bool) (err error) {
	var undo []func() error
	move := func(from, to string) {
		if err == nil {
			err = Rename(from, to)
		}
		if err == nil {
			undo = append(undo, func() error { return Rename(to, from) })
		}
	}
	last, others := files[len(files)-1], files[:len(files)-1]
	if mixes {
		move(last.final, setAside(last.final))
	}
	for _, f := range others {
		if exists(f.final) {
			move(f.final, setAside(f.final))
		}
		move(f.Name(), f.final)
	}
	synced := ""
	for _, f := range others {
		if dir := filepath.Dir(f.final); err == nil && sync && dir != synced {
			err, synced = SyncDir(dir), dir
		}
	}
	if err == nil {
		err = Rename(last.Name(), last.final)
	}
	if err != nil {
		for _, back := range slices.Backward(undo) {
			err = errors.Join(err, back())
		}
	}
	for _, f := range files {
		f.isUnnamed = err == nil
		if left := setAside(f.final); err == nil && exists(left) { // a killed writer may have left it
			_ = Remove(left)
		}
	}
	if err == nil && sync {
		err = settle(filepath.Dir(last.final))
	}
	return err
}

// setAside returns the name under which the old file at path waits until the new files are in place.
func setAside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+Shorten(filepath.Base(path))+".weightmap-old")
}

// Exists reports whether there is a file at a path.
func Exists(path string) bool { return exists(path) }
