package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Library is a compression library that has readers and writers; Stream makes
// a codec of it.
type Library interface {
	// Name is that of the codec.
	Name() string
	// Window returns how many bytes a reader takes at most.
	Window() int64
	// NewReader decompresses src, which may be the mapping of a file: a fault
	// unwinds through the reader, which is then not given back.
	NewReader(src []byte) (Reader, error)
	// NewWriter compresses into w. The level is from 1 to 9. release, when not
	// nil, gives the writer back and is called after a Close without error.
	NewWriter(w io.Writer, level int) (z io.WriteCloser, release func(), err error)
}

// Reader decompresses one stream.
type Reader interface {
	io.Reader
	// Rest returns how many bytes of the input follow the stream, once Read has
	// answered io.EOF.
	Rest() int
	// Release gives the reader back to be used again.
	Release()
}

// Stream is the codec of a library.
type Stream struct{ Library }

// Compress implements Codec.
func (s Stream) Compress(src []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(src)/2 + 64)
	w, err := s.NewWriter(&out, level, int64(len(src)))
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// NewWriter implements Streamer.
func (s Stream) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	level, err := CheckLevel(level)
	if err != nil {
		return nil, err
	}
	z, release, err := s.Library.NewWriter(w, level)
	if err != nil {
		return nil, err
	}
	return NewCounted(z, s.Name(), size, release), nil
}

// Decompress implements Codec.
func (s Stream) Decompress(src []byte, size int64) ([]byte, error) { return Decompress(s, src, size) }

// Decompress is Codec.Decompress by means of the other methods: it allocates the
// result once, after the size was proved where it is out of proportion.
func Decompress(c Codec, src []byte, size int64) ([]byte, error) {
	if err := CheckSize(size); err != nil {
		return nil, err
	}
	if size > Ahead(len(src)) {
		if err := c.Expand(io.Discard, src, size); err != nil {
			return nil, err
		}
	}
	dst := memory.Aligned(int(size))
	if err := c.DecompressInto(dst, src); err != nil {
		return nil, err
	}
	return dst, nil
}

// DecompressInto implements Codec.
func (s Stream) DecompressInto(dst, src []byte) error {
	r, err := s.NewReader(src)
	if err != nil {
		return Corrupt(s.Name(), err)
	}
	n, err := io.ReadFull(steady{r}, dst)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && len(dst) > n:
		return Corruptf(s.Name(), "ends after %d of %d bytes", n, len(dst))
	case err != nil:
		return Corrupt(s.Name(), err)
	}
	return s.end(r, int64(n))
}

// Expand implements Codec.
func (s Stream) Expand(w io.Writer, src []byte, size int64) error {
	n, err := s.walk(w, src, size)
	switch {
	case err != nil:
		return err
	case n > size:
		return Corruptf(s.Name(), "holds more than %d bytes", size)
	case n < size:
		return Corruptf(s.Name(), "ends after %d of %d bytes", n, size)
	}
	return nil
}

// Window implements Codec: that of DEFLATE is 32 kB, that of Brotli 16 MiB at most.
func (s Stream) Window([]byte) int64 { return s.Library.Window() }

// DecompressMax implements Codec. The first pass only counts.
func (s Stream) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := CheckSize(limit); err != nil {
		return nil, err
	}
	n, err := s.walk(io.Discard, src, limit)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, TooLong(s.Name(), limit)
	}
	dst := memory.Aligned(int(n))
	return dst, s.DecompressInto(dst, src)
}

var pieces = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// walk writes what a stream holds to w, and returns how much it is. It stops behind
// most bytes.
func (s Stream) walk(w io.Writer, src []byte, most int64) (n int64, err error) {
	if err := CheckSize(most); err != nil {
		return 0, err
	}
	r, err := s.NewReader(src)
	if err != nil {
		return 0, Corrupt(s.Name(), err)
	}
	piece := pieces.Get().(*[64 << 10]byte)
	defer pieces.Put(piece)
	for n <= most {
		k, err := steady{r}.Read(piece[:])
		if n += int64(k); k > 0 && n <= most {
			if _, err := w.Write(piece[:k]); err != nil {
				return n, err
			}
		}
		if errors.Is(err, io.EOF) {
			return n, s.end(r, n)
		}
		if err != nil {
			return n, Corrupt(s.Name(), err)
		}
	}
	return n, nil
}

// TooLong is the error for content of more than limit bytes.
func TooLong(name string, limit int64) error {
	return fmt.Errorf("%w: %s: more than %d bytes", tensor.ErrLimit, name, limit)
}

// steady is a reader that makes progress or fails.
type steady struct{ io.Reader }

func (r steady) Read(p []byte) (int, error) {
	for range 100 {
		if n, err := r.Reader.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// end makes sure that r ends here, its checksum included, and that it used up all of
// its input, and gives it back.
func (s Stream) end(r Reader, n int64) error {
	var one [1]byte
	k, err := steady{r}.Read(one[:])
	switch {
	case k > 0:
		return Corruptf(s.Name(), "holds more than %d bytes", n)
	case !errors.Is(err, io.EOF):
		return Corrupt(s.Name(), err)
	case r.Rest() > 0:
		return Corruptf(s.Name(), "%d bytes after its end", r.Rest())
	}
	r.Release()
	return nil
}

// counted checks that a streaming compressor got as many bytes as announced.
type counted struct {
	w       io.WriteCloser
	name    string
	left    int64
	release func()
}

// NewCounted returns w, which must get size bytes until Close. release, when
// not nil, is called once after a Close without error.
func NewCounted(w io.WriteCloser, name string, size int64, release func()) io.WriteCloser {
	return &counted{w: w, name: name, left: size, release: release}
}

func (c *counted) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		return 0, fmt.Errorf("%w: %s: more bytes to compress than announced", tensor.ErrShape, c.name)
	}
	n, err := c.w.Write(p)
	c.left -= int64(n)
	return n, err
}

func (c *counted) Close() error {
	if c.left > 0 {
		return fmt.Errorf("%w: %s: %d bytes fewer to compress than announced", tensor.ErrShape, c.name, c.left)
	}
	err := c.w.Close()
	if err == nil && c.release != nil {
		c.release()
		c.release = nil
	}
	return err
}

// NoEOF keeps an early end from looking like a regular one.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
