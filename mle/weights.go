package mle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sort"
	"sync"

	"github.com/weightmap/weightmap/format"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
)

// compression is the compression section.
type compression struct {
	CompressionInfo
	fields  wire.Record // of the section up to the chunk table
	chunked bool
	chunks  []chunk // a single one without checksum if not chunked
	base    int64   // file offset of the rows of the chunk table
}

// chunk is a row of the chunk table: where a range of the uncompressed weights, up to the next
// chunk, begins, and the corresponding range of the stored weights.
type chunk struct {
	Offset     int64
	Stored     int64
	StoredSize int64
	Checksum   uint32 // CRC-32 of the stored bytes
}

// size returns the uncompressed size of chunk i.
func (c *compression) size(i int) int64 {
	if i+1 < len(c.chunks) {
		return c.chunks[i+1].Offset - c.chunks[i].Offset
	}
	return c.Uncompressed - c.chunks[i].Offset
}

// find returns the index of the chunk that holds byte off of the uncompressed weights.
func (c *compression) find(off int64) int {
	return sort.Search(len(c.chunks), func(i int) bool { return c.chunks[i].Offset > off }) - 1
}

// covering returns the range of chunks that hold n bytes at off, and their stored range. n must not
// be 0.
func (c *compression) covering(off, n int64) (first, end int, stored Section) {
	first = c.find(off)
	end = c.find(off+n-1) + 1
	from := c.chunks[first].Stored
	last := &c.chunks[end-1]
	return first, end, Section{from, last.Stored + last.StoredSize - from}
}

// cached is a result that is computed once and remains until Close. An error remains only
// if it is permanent.
type cached struct {
	mu   sync.Mutex
	done bool
	b    []byte
	err  error
}

// once returns the result in c. If there is none, it reserves n bytes of memory, calls do
// and stores the result.
func (f *parsed) once(c *cached, n int64, do func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return c.b, c.err
	}
	err := f.memory.Reserve(n)
	if err != nil {
		return nil, f.weightsError(err, 0)
	}
	defer func() {
		if c.b == nil { // also after a fault
			f.memory.Release(n)
		}
	}()
	c.b, c.err = do()
	c.done = isPermanent(c.err)
	return c.b, c.err
}

// isPermanent reports whether trying again would give the same result: no error, or one about the
// bytes of the file or the key.
func isPermanent(err error) bool {
	return err == nil || errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrKey) ||
		errors.Is(err, format.ErrChecksum)
}

// close drops decrypted and decompressed weights.
func (f *parsed) close() error {
	f.plain = cached{}
	f.whole = cached{}
	return nil
}

// encrypted reports whether the weights are encrypted.
func (f *parsed) encrypted() bool { return f.h.Features.Has(Encryption) }

// needsKey reports whether the weights are encrypted and no key was given.
func (f *parsed) needsKey() bool { return f.encrypted() && f.cipher == nil }

// load returns the bytes of tensor i, which is compressed or encrypted.
func (f *parsed) load(i int) ([]byte, error) {
	b, err := f.loadAny(i)
	if err != nil || len(b) == 0 {
		return b, err
	}
	if memory.Address(b)%uintptr(f.index.DType(i).Size()) == 0 {
		return b, nil
	}
	return append(memory.Aligned(len(b))[:0], b...), nil
}

// loadAny returns the bytes of tensor i, aligned or not.
func (f *parsed) loadAny(i int) ([]byte, error) {
	off := f.at[i]
	n := f.index.Size(i)
	if !f.shares(i) {
		return f.loadChunks(off, n)
	}
	b, err := f.content()
	if err != nil {
		return nil, err
	}
	return b[off : off+n : off+n], nil
}

// shares reports whether tensors are parts of one decrypted or decompressed section.
func (f *parsed) shares(int) bool {
	return !f.comp.chunked || f.comp.Method == MethodNone
}

// stored returns n bytes at off of the decrypted weights section.
func (f *parsed) stored(off, n int64) ([]byte, error) {
	if !f.encrypted() {
		return f.src.Slice(f.h.Weights.Offset+off, n)
	}
	b, err := f.once(&f.plain, f.h.Weights.Size, f.decrypt)
	if err != nil {
		return nil, err
	}
	return b[off : off+n : off+n], nil
}

// decrypt decrypts the whole section, which AES-GCM authenticates as one message.
func (f *parsed) decrypt() ([]byte, error) {
	s := f.h.Weights
	if f.cipher == nil {
		return nil, errorf("weights", s.Offset, format.ErrKey, "they are encrypted, and no key was given")
	}
	plain, err := f.cipher.OpenAt(f.src, s.Offset, s.Size, f.head[:aadSize])
	if !errors.Is(err, format.ErrKey) {
		return plain, err
	}
	b, sliceErr := f.src.Slice(s.Offset, s.Size)
	if sliceErr != nil {
		return nil, sliceErr
	}
	sum := f.weightsSum()
	_, sumErr := f.src.Compare(&sum, b, s.Offset)
	if sumErr != nil {
		return nil, sumErr
	}
	return nil, f.weightsError(err, 0)
}

// content returns all weights, decrypted and decompressed.
func (f *parsed) content() ([]byte, error) {
	if f.comp.Method == MethodNone {
		return f.stored(0, f.comp.Stored)
	}
	size := f.comp.Uncompressed
	return f.once(&f.whole, size, func() ([]byte, error) { return f.loadChunks(0, size) })
}

// loadChunks decompresses the chunks that hold n bytes at off, several at a time.
func (f *parsed) loadChunks(off, n int64) ([]byte, error) {
	comp := &f.comp
	first, end, stored := comp.covering(off, n)
	in, err := f.stored(stored.Offset, stored.Size)
	if err != nil {
		return nil, err
	}
	each := func(do func(i int, stored []byte) error) error {
		return work.Each(context.Background(), end-first, 0, func(k int) error {
			c := &comp.chunks[first+k]
			b := in[c.Stored-stored.Offset:][:c.StoredSize]
			return f.weightsError(do(first+k, b), c.Stored)
		})
	}
	begin := comp.chunks[first].Offset
	size := comp.chunks[end-1].Offset + comp.size(end-1) - begin
	if size > codecs.Ahead(len(in)) { // check it before allocating memory
		err := each(func(i int, b []byte) error { return f.expand(io.Discard, b, comp.size(i)) })
		if err != nil {
			return nil, err
		}
	}
	err = wire.CheckSize(size)
	if err != nil {
		return nil, f.weightsError(err, stored.Offset)
	}
	whole := memory.Aligned(int(size))
	codec := methods[comp.Method].codec
	err = each(func(i int, b []byte) error {
		dst := whole[comp.chunks[i].Offset-begin:][:comp.size(i)]
		return codecs.DataInto(dst, codec, b, f.memory)
	})
	if err != nil {
		return nil, err
	}
	return whole[off-begin:][:n:n], nil
}

// expand writes the content of in, of size bytes, to w.
func (f *parsed) expand(w io.Writer, in []byte, size int64) error {
	c := methods[f.comp.Method].codec
	if c == nil {
		_, err := io.CopyN(w, bytes.NewReader(in), size) // in pieces, since w may be canceled
		return err
	}
	return codecs.DataTo(w, c, in, size, f.memory)
}

// weightsError adds the field and the file offset to an error about the stored bytes at
// off of the weights section.
func (f *parsed) weightsError(err error, off int64) error {
	if err == nil {
		return nil
	}
	return wire.Error(formatName, "weights", f.h.Weights.Offset+off, err)
}
