package gzip

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/weightmap/weightmap/internal/codec"
)

// step is how much of the input Check reads at a time, and growth the factor by which
// it looks further ahead.
const (
	step   = 256 << 10
	growth = 4
)

// check is what a Check needs, used again by the next.
type check struct {
	in  *bufio.Reader
	out [64 << 10]byte
}

var checks = sync.Pool{New: func() any { return &check{in: bufio.NewReaderSize(nil, step)} }}

// Check fails when decompressing size bytes from the n bytes of src would. It
// keeps nothing: its memory grows with neither. An error of src is returned as it is.
func Check(src io.ReaderAt, n, size int64) error {
	c := checks.Get().(*check)
	defer checks.Put(c)
	defer c.in.Reset(nil)
	from, in := &remembering{}, c.in
	for window := int64(step); ; window *= growth {
		*from = remembering{r: io.NewSectionReader(src, 0, n)}
		in.Reset(from)
		head, _ := in.Peek(int(min(window, n)))
		body, err := skipTexts(head)
		if err == nil {
			err = checkMember(in, len(head)-len(body), c.out[:], size)
		} else if from.err == nil && window < n {
			// The texts of the header may be longer than what was looked at.
			in = bufio.NewReaderSize(nil, int(min(growth*window, n)))
			continue
		}
		switch {
		case from.err != nil:
			return from.err
		case err != nil:
			return codec.Corrupt("gzip", err)
		}
		return nil
	}
}

// checkMember reads the member that in begins with, whose header has so many
// bytes of texts, in pieces as large as out.
func checkMember(in *bufio.Reader, texts int, out []byte, size int64) error {
	var from io.Reader = in
	if texts > 0 {
		if _, err := in.Discard(texts); err != nil {
			return err
		}
		from = &headed{plainHeader, in}
	}
	z, ok := readers.Get().(*reader)
	if !ok {
		z = new(reader)
	}
	defer z.Release()
	if err := z.Reset(from); err != nil {
		return codec.NoEOF(err)
	}
	z.Multistream(false)
	for left := size; ; {
		n, err := z.Read(out)
		left -= int64(n)
		switch {
		case left < 0:
			return errTooLong
		case errors.Is(err, io.EOF) && left > 0:
			return errTooShort
		case errors.Is(err, io.EOF):
			if _, err := in.Peek(1); err == nil {
				return errTrailing
			}
			return nil
		case err != nil:
			return err
		}
	}
}

var (
	errTooLong  = errors.New("holds more bytes than expected")
	errTooShort = errors.New("ends before as many bytes as expected")
	errTrailing = errors.New("bytes after its end")
)

// remembering is a reader that keeps its error, which decompressors hide.
type remembering struct {
	r   io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
