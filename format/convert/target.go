package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/tensor"
)

// targetField is the Field of the errors of a path that is not to be replaced.
const targetField = "target"

// checkTarget refuses a target whose file belongs to a model of several files: to m, or to one that
// is in the directory of the path. Replacing the file would leave that model broken.
func (j *job) checkTarget(m *format.Model) error {
	path := j.path
	refuse := func(why string) error {
		err := fmt.Errorf("it is %s: replacing it would break that model%.0w", why, format.ErrSchema)
		return &tensor.Error{Format: j.format, Path: path, Field: targetField, Offset: -1, Err: err}
	}
	name := filepath.Base(path)
	there, err := os.Stat(path)
	if err == nil && there.Mode().IsRegular() {
		for i, file := range m.Files() {
			if i > 0 && sameFile(there, file) {
				return refuse("a file of the model that is converted")
			}
		}
		if strings.HasSuffix(name, shards.IndexEnding) && j.target.MaxShard == 0 {
			return refuse("the index of a model")
		}
	}
	dir := disk.OpenDir(filepath.Dir(path), "")
	defer dir.Close()
	p := shards.PartOf(dir.Files(), name, &driver.Memory{})
	switch {
	case p.Count == 0:
		return nil
	case p.Index != "":
		return refuse(p.String())
	case j.target.MaxShard > 0 && j.format == "gguf": // replaces all parts
		return nil
	}
	for _, part := range shards.NamesLike(name) {
		_, err := os.Stat(filepath.Join(filepath.Dir(path), part))
		if part != name && err == nil {
			return refuse(p.String())
		}
	}
	return nil
}

// sameFile reports whether a path names a file.
func sameFile(there os.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(there, other)
}
