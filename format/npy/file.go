package npy

import (
	"errors"

	"github.com/weightmap/weightmap/format"
)

// Open maps the .npy file or .npz archive at path. Nil options work. Errors are
// *tensor.Error with field and offset in the file (see the package documentation),
// or wrap those of package os.
//
// The model's format is "npy" or "npz". Its version is that of the array or, in an archive,
// the highest of its arrays. Verify verifies the CRC-32 of every entry of an archive; .npy
// files have no checksums, and Verify checks that all data is there.
func Open(path string, o *format.Options) (*format.Model, error) {
	return open(func(c format.Codec) (*format.Model, error) { return c.Open(path, o) })
}

// open opens a file of either kind.
func open(with func(format.Codec) (*format.Model, error)) (*format.Model, error) {
	m, err := with(fileCodec)
	if errors.Is(err, format.ErrMagic) {
		var second error
		if m, second = with(archiveCodec); second == nil || !errors.Is(second, format.ErrMagic) || errors.Is(second, format.ErrUnknownFormat) {
			err = second
		}
	}
	return m, err
}
