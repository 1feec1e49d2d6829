package npy

import (
	"errors"

	"github.com/weightmap/weightmap/format"
)

// Open maps the .npy file or .npz archive at path. Nil options work. Errors are *tensor.Error with
// field and offset in the file (see the package documentation), or wrap those of package os.
//
// The model's format is "npy" or "npz". Its version is that of the array or, in an archive,
// the highest of its arrays. Verify verifies the CRC-32 of every entry of an archive; .npy
// files have no checksums, and Verify checks that all data is there.
func Open(path string, o *format.Options) (*format.Model, error) {
	return openEither(o, func(o *format.Options) (*format.Model, error) { return format.Open(path, o) })
}

// opener opens a file with the given options.
type opener func(*format.Options) (*format.Model, error)

// openEither opens a .npy file or, without the magic of one, an archive.
func openEither(o *format.Options, open opener) (*format.Model, error) {
	m, err := open(o.With(Format{}))
	if !errors.Is(err, format.ErrMagic) {
		return m, err
	}
	m, second := open(o.With(Archive{}))
	if errors.Is(second, format.ErrMagic) && !errors.Is(second, format.ErrUnknownFormat) {
		return nil, err
	}
	return m, second
}
