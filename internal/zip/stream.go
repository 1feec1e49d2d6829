package zip

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Entry describes the content of an entry.
type Entry struct {
	At, Stored int64 // range in the file, perhaps compressed
	Size       int64 // of the content
	Packed     bool  // by DEFLATE
	Sum        uint32
	LocalSum   uint32 // the CRC-32 in the local header or data descriptor; Sum is that in the directory
}

// Compare compares the CRC-32 of the content with what the archive records.
func (e *Entry) Compare(sum uint32) error {
	for _, want := range []uint32{e.Sum, e.LocalSum} {
		if sum != want {
			return fmt.Errorf("%w: the entry has crc32 %08x, the file records %08x", driver.ErrChecksum, sum, want)
		}
	}
	return nil
}

// section reads a part of a file, ahead of the parser.
type section struct {
	src     reader
	at, end int64
}

// reader is a driver.Source, or reads heads.
type reader interface {
	ReadAhead(p []byte, off int64) (int, error)
}

// heads reads the beginnings of entries; small neighboring entries are read together.
type heads struct{ wire.Window }

func (h *heads) ReadAhead(p []byte, off int64) (int, error) {
	b, err := h.Peek(off, int64(len(p)))
	return copy(p, b), err
}

func (s *section) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), s.end-s.at))
	if n <= 0 {
		return 0, io.EOF
	}
	n, err := s.src.ReadAhead(p[:n], s.at)
	s.at += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Stream reads the uncompressed content of entries sequentially. It is reusable.
type Stream struct {
	R    io.Reader // set by Seek and Unpack
	Sum  uint32    // CRC-32 of what Next has read
	Left int64     // bytes of the content that Next has not read

	in  section
	buf *bufio.Reader // of in
	z   io.ReadCloser // inflates buf; nil before the first compressed entry
	out []byte
}

// NewStream makes a stream that reads size bytes at a time.
func NewStream(size int) *Stream {
	return &Stream{buf: bufio.NewReaderSize(nil, size), out: make([]byte, size)}
}

var streams = sync.Pool{New: func() any { return NewStream(64 << 10) }}

// Borrow returns a pooled Stream; Release returns it to the pool.
func Borrow() *Stream { return streams.Get().(*Stream) }

// Release returns s to the pool.
func (s *Stream) Release() {
	s.seek(nil, 0, 0)
	streams.Put(s)
}

// seek begins to read bytes of the file.
func (s *Stream) seek(src reader, at, end int64) {
	s.in = section{src, at, end}
	s.buf.Reset(&s.in)
	s.R = s.buf
}

// Unpack makes R, which is at the content of an entry, read the uncompressed content.
func (s *Stream) Unpack(packed bool) error {
	if !packed {
		return nil
	}
	if s.z == nil {
		s.z = flate.NewReader(s.buf)
	} else if err := s.z.(flate.Resetter).Reset(s.buf, nil); err != nil {
		return err
	}
	s.R = s.z
	return nil
}

// Open starts reading the content of an entry.
func (s *Stream) Open(src driver.Source, e *Entry) error {
	s.seek(src, e.At, e.At+e.Stored)
	s.Sum, s.Left = 0, e.Size
	return s.Unpack(e.Packed)
}

// Next reads up to n more bytes, which are valid until the next call.
func (s *Stream) Next(n int64) ([]byte, error) {
	p := s.out[:min(n, int64(len(s.out)))]
	if _, err := io.ReadFull(s.R, p); err != nil {
		return nil, Unpacked(err)
	}
	s.Sum = tensor.UpdateCRC32(s.Sum, p)
	s.Left -= int64(len(p))
	return p, nil
}

// End checks that the content and its compressed bytes end together.
func (s *Stream) End(packed bool) error {
	if !packed {
		return nil
	}
	switch n, err := io.ReadFull(s.R, s.out[:1]); {
	case n > 0:
		return fmt.Errorf("%w: deflate: holds more than its size", tensor.ErrCorrupt)
	case !errors.Is(err, io.EOF):
		return Unpacked(err)
	case s.buf.Buffered() > 0 || s.in.at < s.in.end:
		return fmt.Errorf("%w: deflate: bytes after its end", tensor.ErrCorrupt)
	}
	return nil
}

// Unpacked turns an error of decompression into one about the file. It returns other errors unchanged.
func Unpacked(err error) error {
	var bad flate.CorruptInputError
	var internal flate.InternalError // some damaged streams cause this
	if errors.Is(err, tensor.ErrTruncated) {
		return err // an error of the file
	}
	if errors.As(err, &bad) || errors.As(err, &internal) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return codec.Corrupt("deflate", codec.NoEOF(err))
	}
	return err
}

// Prove checks the size of a compressed entry by reading it once if the size is out of
// proportion, before memory is allocated for it.
func (s *Stream) Prove(src driver.Source, e *Entry) error {
	if !e.Packed || e.Size <= codec.Ahead(int(min(e.Stored, mostAhead))) {
		return nil
	}
	return s.Walk(src, e, func([]byte) error { return nil })
}

// mostAhead is the maximum number of compressed bytes that justify allocating before reading them.
const mostAhead = 4 << 20

// Walk calls f with consecutive pieces of the content.
func (s *Stream) Walk(src driver.Source, e *Entry, f func(b []byte) error) error {
	if err := s.Open(src, e); err != nil {
		return err
	}
	for s.Left > 0 {
		b, err := s.Next(s.Left)
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
	}
	return s.End(e.Packed)
}

// Content reads the content of an entry into private memory.
func (e *Entry) Content(src driver.Source) ([]byte, error) {
	if !e.Packed {
		return driver.Private(src, e.At, e.Size)
	}
	s := Borrow()
	defer s.Release()
	if err := s.Prove(src, e); err != nil {
		return nil, err
	}
	if err := s.Open(src, e); err != nil {
		return nil, err
	}
	return s.Rest(e.Packed)
}

// Rest reads the content that Next has not read into new memory, aligned for any dtype.
func (s *Stream) Rest(packed bool) ([]byte, error) {
	if err := codec.CheckSize(s.Left); err != nil {
		return nil, err
	}
	b := memory.Aligned(int(s.Left))
	if _, err := io.ReadFull(s.R, b); err != nil {
		return nil, Unpacked(err)
	}
	s.Sum, s.Left = tensor.UpdateCRC32(s.Sum, b), 0
	return b, s.End(packed)
}

// Verify compares the CRC-32 of the content with those in the archive. name is for progress reports.
func (e *Entry) Verify(v driver.Verification, src driver.Source, space driver.Space, name string) error {
	if !e.Packed {
		sum, err := v.Hash(driver.CRC32, space, e.At, e.Stored, name)
		if err != nil {
			return err
		}
		return e.Compare(uint32(sum))
	}
	s := Borrow()
	defer s.Release()
	err := s.Walk(src, e, func(b []byte) error {
		v.Done(int64(len(b)), name)
		return v.Context().Err()
	})
	if err != nil {
		return err
	}
	return e.Compare(s.Sum)
}
