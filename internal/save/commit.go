package save

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// commitAll renames finished files into place. The last file is the index that names the others: its
// rename publishes the model. If mixes is set, some of the others replace files that the old index
// names, so the old index is set aside first and no reader sees a mixture of both models. It returns
// the errors that Commit documents.
func commitAll(files []*File, sync, mixes bool) error {
	var m moves
	err := m.place(files, sync, mixes)
	if err != nil {
		for _, undo := range slices.Backward(m.undo) {
			err = errors.Join(err, undo())
		}
	}
	for _, f := range files {
		left := setAside(f.final) // a killed writer may have left it
		if err != nil {
			left = f.Name()
		}
		if exists(left) {
			_ = Remove(left)
		}
	}
	if err == nil && sync {
		err = durably(filepath.Dir(files[len(files)-1].final))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// moves is a list of renames that can be undone.
type moves struct{ undo []func() error }

func (m *moves) rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return err
	}
	m.undo = append(m.undo, func() error { return rename(to, from) })
	return nil
}

func (m *moves) place(files []*File, sync, mixes bool) error {
	last, others := files[len(files)-1], files[:len(files)-1]
	if mixes {
		if err := m.rename(last.final, setAside(last.final)); err != nil {
			return err
		}
	}
	synced := ""
	for _, f := range others {
		if exists(f.final) {
			if err := m.rename(f.final, setAside(f.final)); err != nil {
				return err
			}
		}
		if err := m.rename(f.Name(), f.final); err != nil {
			return err
		}
	}
	for _, f := range others {
		if dir := filepath.Dir(f.final); sync && dir != synced {
			if err := SyncDir(dir); err != nil {
				return err
			}
			synced = dir
		}
	}
	return rename(last.Name(), last.final)
}

// setAside returns the name under which the old file at path waits until the new files are in place.
func setAside(path string) string {
	return filepath.Join(filepath.Dir(path), "."+Shorten(filepath.Base(path))+".weightmap-old")
}
