package codec

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Codec is what Data, DataInto and DataTo decompress with. Its methods are for this package: a
// format that called them would allocate what a file claims. A test holds that none does.
type Codec interface {
	// Window returns the most memory in bytes that DecodeTo needs for src.
	Window(src []byte) int64
	// DecodeInto decompresses src, which must have len(dst) bytes of content, to dst.
	DecodeInto(dst, src []byte) error
	// DecodeTo writes the content of src, which must have size bytes, to w piece by piece.
	DecodeTo(w io.Writer, src []byte, size int64) error
}

// A section may inflate to a multiple of its stored size, or to the floor if that is more.
const (
	sectionRatio = 256
	sectionFloor = 16 << 20
)

// SectionLimit returns the most bytes to which a section of a stored size may inflate. Most is the
// limit for any size.
func SectionLimit(stored, most int64) int64 {
	return min(most, max(sectionRatio*min(stored, most), sectionFloor))
}

// Section decompresses a section of a file: structure whose size nothing else in the file bounds.
// Size is what the file says it has, or -1. The content is limited by the stored size, and to most
// bytes; what exceeds that, or the memory that is left, is tensor.ErrLimit. Section reserves the
// content in m, from which the caller releases it.
func Section(s *Stream, stored []byte, size, most int64, m *driver.Memory) ([]byte, error) {
	limit := SectionLimit(int64(len(stored)), most)
	if size < 0 {
		n, err := s.count(stored, min(limit, m.Left()), m)
		if err != nil {
			return nil, err
		}
		size = n
	}
	if size > limit {
		return nil, fmt.Errorf("%w: %s: more than %d bytes in %d", tensor.ErrLimit, s.Name, limit,
			len(stored))
	}
	err := m.Reserve(size)
	if err != nil {
		return nil, err
	}
	content, err := Data(s, stored, size, m)
	if err != nil {
		m.Release(size)
		return nil, err
	}
	return content, nil
}

// count returns the size of the content of stored. One that is larger than limit counts as limit
// and one.
func (s *Stream) count(stored []byte, limit int64, m *driver.Memory) (n int64, err error) {
	err = reserved(window(s, stored, limit), m, func() error {
		n, err = s.decompress(io.Discard, make([]byte, piece), stored, limit)
		return err
	})
	return n, err
}

// Data decompresses data whose size is known: that of its shape and dtype, or one that the file has
// proved elsewhere. The content is aligned to 64 bytes. If its size is out of proportion to stored,
// Data first decompresses it piece by piece, to check the size. The caller has reserved the content
// in m; Data reserves what it needs beside it.
func Data(c Codec, stored []byte, size int64, m *driver.Memory) ([]byte, error) {
	if size < 0 || size > Ahead(len(stored)) {
		err := stream(io.Discard, c, stored, size, m)
		if err != nil {
			return nil, err
		}
	}
	err := wire.CheckSize(size)
	if err != nil {
		return nil, err
	}
	dst := memory.Aligned(int(size))
	err = DataInto(dst, c, stored, m)
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// DataInto is like Data, but writes to dst. After an error the contents of dst are undefined.
func DataInto(dst []byte, c Codec, stored []byte, m *driver.Memory) error {
	n := window(c, stored, int64(len(dst)))
	return reserved(n, m, func() error { return c.DecodeInto(dst, stored) })
}

// DataTo is like Data, but writes to w. It does not hold the content, which may exceed the address
// space.
func DataTo(w io.Writer, c Codec, stored []byte, size int64, m *driver.Memory) error {
	if size < 0 || size > mostAtOnce || size > Ahead(len(stored)) || m.Reserve(size) != nil {
		return stream(w, c, stored, size, m)
	}
	defer m.Release(size)
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Grow(int(size))
	b := buf.AvailableBuffer()[:size]
	err := DataInto(b, c, stored, m)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// buffers holds memory for small data: LZ4 is 2.5 times as fast as with new memory, and faster than
// piece by piece.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// mostAtOnce is the size of the largest data that DataTo decompresses at once.
const mostAtOnce = 4 << 20

// stream writes the content of stored to w piece by piece.
func stream(w io.Writer, c Codec, stored []byte, size int64, m *driver.Memory) error {
	return reserved(window(c, stored, size), m, func() error { return c.DecodeTo(w, stored, size) })
}

// Prefix decompresses the first len(dst) bytes of a longer content. What follows them is not read.
func Prefix(dst []byte, s *Stream, stored []byte, m *driver.Memory) error {
	return reserved(window(s, stored, int64(len(dst))), m, func() error { return s.prefix(dst, stored) })
}

// window returns the memory that decompressing a content of size bytes takes beside the content.
// That of a small content is small in every codec.
func window(c Codec, stored []byte, size int64) int64 {
	if size < 0 {
		return 0 // it is refused
	}
	return min(c.Window(stored), 4*min(size, 1<<40))
}

// uncounted is the largest window that is not counted: what memory several goroutines need at once
// would depend on chance, and no more than this for each of them.
const uncounted = 256 << 10

// reserved calls f while n bytes for a window are reserved.
func reserved(n int64, m *driver.Memory, f func() error) error {
	if n <= uncounted {
		return f()
	}
	err := m.Reserve(n)
	if err != nil {
		return err
	}
	defer m.Release(n)
	return f()
}
