package disk

import (
	"os"
	"path/filepath"
	"strings"
)

// A model in one file and one in parts replace each other: each writer renames the file that opens
// its model into place, and then removes the one that opened the old model. No system call removes
// a file only if it is still the same one. So two writers that compare and then remove, without a
// lock, could each remove the model of the other. Therefore a writer
//
//  1. renames its own file into place,
//  2. creates a mark, a hidden file that names what it is about to remove,
//  3. looks for marks of writers that may be about to remove its own file, and removes nothing if there is one,
//  4. compares what is in place, its own file too, with what it knows,
//  5. removes the old file, and then its mark.
//
// Of two writers that remove each other's files the one whose mark was created later sees the mark
// of the other in step 3, unless the other one is done; and then it sees in step 4 what the other
// one has left. So one of the two files stays. A writer that was killed leaves a mark, which counts
// for a day: until then both models may stay. Plain names of parts come again once the index is
// gone. A writer that removes such parts has a mark too, and a writer that has given plain names
// looks for marks, and then whether the parts still have the names, before its index lists them.

// removing is what the name of a mark has after the name of the file to remove.
const removing = ".removing"

func (m *Model) mark(path string) (unmark func(), err error) { return mark(path, m.writer) }

// mark announces that a file is about to be removed.
func mark(path string, writer uint32) (unmark func(), err error) {
	name := hiddenName(path+removing, writer, 0)
	if err := before(Call{Name: "mark", Path: name}); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_ = f.Close() // it is empty
	return func() { _ = Remove(name) }, nil
}

func (m *Model) isMarked(path string) bool { return isMarked(path, m.writer) }

// isMarked reports whether another writer may be about to remove a file.
func isMarked(path string, writer uint32) bool {
	dir, base := filepath.Split(filepath.Clean(path))
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return true
	}
	own := filepath.Base(hiddenName(path+removing, writer, 0))
	prefix := "." + Shorten(base+removing) + "."
	for _, e := range entries {
		name := e.Name()
		if IsHidden(name) && name != own && len(name) == len(own) && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isInPlace reports whether the file that opens the new model is still there.
func (m *Model) isInPlace() bool {
	now := lstat(m.opening.final)
	return now != nil && isSame(now, m.own)
}
