package external

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// New returns the file of external data for a model of a format at a path. Its name begins with
// location or, if that is "", with the name of the model. files lists the files of a model.
func New(format, location, model string,
	files func(path string) ([]string, error)) (*driver.External, error) {
	if model == "" {
		return nil, fmt.Errorf("%w: a stream has no directory, use Create", tensor.ErrUnsupported)
	}
	base := filepath.Base(model)
	location = cmp.Or(location, base)
	err := CheckLocation([]byte(location))
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(location) || strings.HasSuffix(location, "/") {
		return nil, fmt.Errorf("%w: location %q is not UTF-8, or names a directory", tensor.ErrCorrupt,
			location)
	}
	below, stem := path.Split(path.Clean(location))
	// The name of the format separates the files from those of another format, whose models are not
	// searched.
	own := "." + format
	stem = strings.TrimSuffix(disk.Shorten(stem), own) + own
	x := &driver.External{Stem: below + stem, Files: files}
	x.Location = x.Name(strings.Repeat("0", 16))
	_, isData := x.Generation(base)
	if isData && below == "" {
		return nil, fmt.Errorf("%w: location %q can be the model itself", tensor.ErrCorrupt, location)
	}
	return x, nil
}

// Reserve allocates a range of the file for a tensor, at a multiple of align.
func Reserve(x *driver.External, size, align int64) int64 {
	off := wire.AlignUp(x.Size, align)
	x.Size = off + size
	return off
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
