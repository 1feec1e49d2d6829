package external

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// File is the file of a model's external data, while it is written.
type File struct {
	Location string
	path     string
	file     *sink.File // made when the first tensor comes
	end      int64
	done     bool
}

// NewFile decides where it will be. model is the path of the model.
func NewFile(location, model string) (*File, error) {
	if model == "" {
		return nil, fmt.Errorf("%w: only Create knows where the model will be", tensor.ErrLimit)
	}
	dir, base := filepath.Split(model)
	x := &File{Location: location}
	if x.Location == "" {
		x.Location = base + ".data"
	}
	if err := CheckLocation([]byte(x.Location)); err != nil {
		return nil, err
	}
	if !utf8.ValidString(x.Location) {
		return nil, fmt.Errorf("%w: location %q is not UTF-8", tensor.ErrCorrupt, x.Location)
	}
	if strings.HasSuffix(x.Location, "/") {
		return nil, fmt.Errorf("%w: location %q names a directory", tensor.ErrCorrupt, x.Location)
	}
	x.path = filepath.Join(dir, filepath.FromSlash(x.Location))
	if x.path == filepath.Join(dir, base) {
		return nil, fmt.Errorf("%w: location %q is the model itself", tensor.ErrCorrupt, x.Location)
	}
	return x, nil
}

// Reserve gives a tensor its range of the file, at a multiple of align.
func (x *File) Reserve(size, align int64) (off int64) {
	off, _ = wire.AlignUp(x.end, align)
	x.end = off + size
	return off
}

// Write stores a tensor at the offset that it was given, and feeds it to the sums.
func (x *File) Write(off int64, in driver.Input, sums ...io.Writer) error {
	if x.file == nil {
		if err := os.MkdirAll(filepath.Dir(x.path), 0o777); err != nil {
			return err
		}
		f, err := sink.CreateFile(x.path)
		if err != nil {
			return err
		}
		x.file = f
	}
	return in.CopyTo(x.file, off, sums...)
}

// Commit makes the file appear.
func (x *File) Commit(sync bool) error {
	x.done = true
	if x.file == nil {
		return nil
	}
	if err := x.file.Truncate(x.end); err != nil {
		x.file.Abort()
		return err
	}
	return x.file.Commit(sync)
}

// Abort removes the file unless it has appeared.
func (x *File) Abort() {
	if x.file != nil && !x.done {
		x.done = true
		x.file.Abort()
	}
}
