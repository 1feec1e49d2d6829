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

// DecompressMax implements Codec.
func (s Stream) DecompressMax(src []byte, limit int64) ([]byte, error) {
	return DecompressMax(s, src, limit, func(w io.Writer) (int64, error) { return s.walk(w, src, limit) })
}

// DecompressMax is Codec.DecompressMax by means of walk, which writes what src holds,
// stops behind limit bytes, and returns how much it is. What is out of proportion is
// only counted, and decompressed once more.
func DecompressMax(c Codec, src []byte, limit int64, walk func(io.Writer) (int64, error)) ([]byte, error) {
	if err := CheckSize(limit); err != nil {
		return nil, err
	}
	// What is kept is held twice when it is put together.
	first := kept{room: min(Ahead(len(src)), limit/2)}
	defer first.release()
	n, err := walk(&first)
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, TooLong(c.Name(), limit)
	}
	dst := memory.Aligned(int(n))
	if n > first.n {
		return dst, c.DecompressInto(dst, src)
	}
	for i, p := range first.pieces {
		copy(dst[i*len(p):], p[:])
	}
	return dst, nil
}

var pieces = sync.Pool{New: func() any { return new(piece) }}

type piece [64 << 10]byte

// kept keeps what is written to it, or nothing where there is no room for all.
type kept struct {
	pieces  []*piece
	n, room int64
}

func (k *kept) Write(b []byte) (int, error) {
	size := len(b)
	if k.room -= int64(size); k.room < 0 {
		k.release()
		return size, nil
	}
	for len(b) > 0 {
		at := k.n % int64(len(piece{}))
		if at == 0 {
			k.pieces = append(k.pieces, pieces.Get().(*piece))
		}
		done := copy(k.pieces[len(k.pieces)-1][at:], b)
		k.n += int64(done)
		b = b[done:]
	}
	return size, nil
}

// release forgets all.
func (k *kept) release() {
	for _, p := range k.pieces {
		pieces.Put(p)
	}
	k.pieces, k.n = nil, 0
}

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
	p := pieces.Get().(*piece)
	defer pieces.Put(p)
	for n <= most {
		k, err := steady{r}.Read(p[:])
		if n += int64(k); k > 0 && n <= most {
			if _, err := w.Write(p[:k]); err != nil {
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
