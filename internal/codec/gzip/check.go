package gzip

import (
	"errors"
	"io"
)

// step is how much of the input Check reads at a time.
const step = 256 << 10

// Check fails when decompressing size bytes from the n bytes of src would. It
// keeps nothing: its memory grows with neither. An error of src is returned as it is.
func Check(src io.ReaderAt, n, size int64) error {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	if r.input == nil {
		r.input = make([]byte, step)
	}
	r.reset(nil, io.NewSectionReader(src, 0, n), r.input)
	defer r.reset(nil, nil, nil)
	got, err := r.walk(io.Discard, size)
	switch {
	case r.err != nil && !errors.Is(r.err, io.EOF):
		return r.err
	case err == nil && got != size:
		return sized(got, size)
	}
	return err
}
