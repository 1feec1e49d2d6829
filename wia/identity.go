package wia

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/weightmap/weightmap/tensor"
)

// An external file is looked at twice: when the model is opened, by name only,
// and when it is mapped. What was put in its place in between is not what the
// model was opened with, and is an error.

// record looks up the identity of the files at some locations: device, inode,
// size and modification time. Files that cannot be looked up have none; using
// them will say why.
func (x *externals) record(locations map[string]bool) {
	if x.dir == "" || len(locations) == 0 {
		return
	}
	root, err := os.OpenRoot(x.dir)
	if err != nil {
		return
	}
	defer root.Close()
	x.seen = make(map[string]os.FileInfo)
	for l := range locations {
		name := path.Clean(l)
		if x.seen[name] != nil {
			continue
		}
		if st, err := root.Stat(filepath.FromSlash(name)); err == nil {
			x.seen[name] = st
		}
	}
}

// same fails unless st is the file that name was when the model was opened.
func (x *externals) same(name string, st os.FileInfo) error {
	switch was := x.seen[name]; {
	case was == nil:
		return fmt.Errorf("%w: the file was not there when the model was opened", tensor.ErrCorrupt)
	case !os.SameFile(was, st):
		return fmt.Errorf("%w: the file was replaced after the model was opened", tensor.ErrCorrupt)
	case was.Size() != st.Size() || !was.ModTime().Equal(st.ModTime()):
		return fmt.Errorf("%w: the file was changed after the model was opened: %d bytes of %v, now %d of %v", tensor.ErrCorrupt,
			was.Size(), was.ModTime().UTC(), st.Size(), st.ModTime().UTC())
	}
	return nil
}
