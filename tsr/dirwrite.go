package tsr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
)

// CreateDir starts writing a directory with a file "<name>.tsr" for each tensor
// of p. It appears at path, whose parent must exist, when the writer is closed.
// A directory that is there already is replaced as a whole, in one step where the
// system has one, provided that it contains nothing but .tsr files; anything else at
// path is refused. See
// [Create] for what p may contain; names must also work as file names (see the
// package documentation).
func CreateDir(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	c := *o.orDefault()
	c.directory = true
	return Create(path, p, &c)
}

// dirEncoder assembles a directory next to the one it will replace.
type dirEncoder struct {
	names   []string // file names
	headers [][]byte
	dir     *sink.Dir
	sync    bool
}

func newDirEncoder(p *driver.Plan, o *driver.WriteOptions) (driver.Encoder, error) {
	files, _ := fileNames(p.Tensors)
	d := &dirEncoder{names: files, headers: make([][]byte, len(p.Tensors)), sync: !o.NoSync}
	for i := range p.Tensors {
		d.headers[i] = encode(&p.Tensors[i])
	}
	final, err := destination(o.Path)
	for tries := 0; tries < 10 && errors.Is(err, fs.ErrNotExist); tries++ {
		final, err = destination(o.Path) // another writer replaced it while it was looked at
	}
	if err != nil {
		return nil, wire.InFile(err, o.Path)
	}
	if d.dir, err = sink.CreateDir(final, replaceable); err != nil {
		return nil, err
	}
	return d, nil
}

// destination returns what is to be replaced or made: the absolute path, through
// symbolic links, of a directory of .tsr files or of nothing.
func destination(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := sink.Restore(abs); err != nil {
		return "", err
	}
	final, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		// A link that leads nowhere still exists.
		if _, e := os.Lstat(abs); e != nil {
			return abs, nil
		}
	}
	if err != nil {
		return "", err
	}
	return final, replaceable(final)
}

// replaceable refuses to replace what is not a directory of .tsr files.
func replaceable(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	list := make([]driver.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = driver.DirEntry{Name: e.Name(), Regular: isRegular(path, e)}
	}
	names, others := members(list)
	if len(others) > 0 {
		err = wire.Errorf(name, "directory", -1, os.ErrExist, "it contains other things than %s files (%d besides %d), such as %q, and is not replaced", extension, len(others), len(names), others[0])
	}
	return err
}

// isRegular reports whether an entry is a regular file or a link to one.
func isRegular(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.Mode().IsRegular()
}

// Tensor implements driver.Encoder. A file system that takes two names for one shows here.
func (d *dirEncoder) Tensor(i int, in driver.Input) error {
	return d.dir.Write(d.names[i], d.sync, func(t sink.Target) error {
		if _, err := t.WriteAt(d.headers[i], 0); err != nil {
			return err
		}
		return in.CopyTo(t, headerSize, nil)
	})
}

// Finish puts the directory in place of the old one.
func (d *dirEncoder) Finish() error { return d.dir.Commit(d.sync) }

// Close removes what was not put in place.
func (d *dirEncoder) Close() error { return d.dir.Abort() }
