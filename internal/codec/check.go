package codec

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Checker is a Codec that can check a stream without keeping what it holds.
type Checker interface {
	Codec
	// Check fails when Decompress of the first n bytes of src would. Its memory
	// grows neither with n nor with size. An error of src is returned as it is.
	Check(src io.ReaderAt, n, size int64) error
}

// checkStep is how much of the input Check reads at a time.
const checkStep = 256 << 10

// checking is what a Check needs, used again by the next.
type checking struct {
	in  *bufio.Reader
	out [64 << 10]byte
}

var checkings = sync.Pool{New: func() any { return &checking{in: bufio.NewReaderSize(nil, checkStep)} }}

func (c gzipCodec) Check(src io.ReaderAt, n, size int64) error {
	s := checkings.Get().(*checking)
	defer checkings.Put(s)
	from := &remembering{}
	defer s.in.Reset(nil)
	in := s.in
	for step := int64(checkStep); ; step *= growth {
		*from = remembering{r: io.NewSectionReader(src, 0, n)}
		in.Reset(from)
		head, _ := in.Peek(int(min(step, n)))
		body, err := skipTexts(head)
		if err == nil {
			err = c.checkMember(in, len(head)-len(body), s.out[:], size)
		} else if from.err == nil && step < n {
			// The texts of the header may be longer than what was looked at.
			in = bufio.NewReaderSize(nil, int(min(growth*step, n)))
			continue
		}
		switch {
		case from.err != nil:
			return from.err
		case err != nil:
			return corrupt("gzip", err)
		}
		return nil
	}
}

// checkMember reads the member that in begins with, whose header has so many
// bytes of texts, in steps as large as out.
func (gzipCodec) checkMember(in *bufio.Reader, texts int, out []byte, size int64) error {
	var r io.Reader = in
	if texts > 0 {
		if _, err := in.Discard(texts); err != nil {
			return err
		}
		r = &headed{plainHeader, in}
	}
	z, ok := gunzippers.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	defer gunzippers.Put(z)
	if err := z.Reset(r); err != nil {
		return noEOF(err)
	}
	z.Multistream(false)
	for left := size; ; {
		n, err := read(z, out)
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
