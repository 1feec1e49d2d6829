package mle

import (
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
	"github.com/weightmap/weightmap/tensor"
)

// compression is the compression section.
type compression struct {
	CompressionInfo
	chunked bool
	chunks  []chunk // a single one without checksum if not chunked
	base    int64   // file offset of the chunk table
}

// chunk is a row of the chunk table: a range of the uncompressed weights and the
// corresponding range of the stored weights.
type chunk struct {
	offset, size       int64 // uncompressed
	stored, storedSize int64
	checksum           uint32 // CRC-32 of the stored bytes
}

const chunkBytes = 40 // memory of a chunk

// find returns the index of the chunk that holds byte off of the uncompressed weights.
func (p *compression) find(off int64) int {
	return sort.Search(len(p.chunks), func(i int) bool { return p.chunks[i].offset > off }) - 1
}

// covering returns the chunks that hold n bytes at off. n must not be 0.
func (p *compression) covering(off, n int64) []chunk {
	return p.chunks[p.find(off) : p.find(off+n-1)+1]
}

// cached is a result that is computed once and remains until Close. An error remains only
// if it is permanent.
type cached struct {
	mu   sync.Mutex
	done bool
	b    []byte
	err  error
}

// held returns the bytes in c, nil if there are none.
func (c *cached) held() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b
}

// once returns the result in c. If there is none, it reserves n bytes of memory, calls do
// and stores the result.
func (f *parsed) once(c *cached, n int64, do func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return c.b, c.err
	}
	if err := f.memory.Reserve(n); err != nil {
		return nil, f.weightsError(err, 0)
	}
	defer func() {
		if c.b == nil { // also after a fault
			f.memory.Release(n)
		}
	}()
	c.b, c.err = do()
	c.done = c.err == nil || errors.Is(c.err, format.ErrCorrupt) || errors.Is(c.err, format.ErrKey) || errors.Is(c.err, format.ErrChecksum)
	return c.b, c.err
}

// close drops decrypted and decompressed weights.
func (f *parsed) close() error {
	f.plain, f.whole = cached{}, cached{}
	return nil
}

// encrypted reports whether the weights are encrypted.
func (f *parsed) encrypted() bool { return f.h.Features.Has(Encryption) }

// needsKey reports whether the weights are encrypted and no key was given.
func (f *parsed) needsKey() bool { return f.encrypted() && f.cipher == nil }

// load returns the bytes of tensor i, which is compressed or encrypted.
func (f *parsed) load(i int) (b []byte, err error) {
	off, n := f.at[i], f.index.Size(i)
	switch {
	case f.comp.Method == MethodNone:
		b, err = f.stored(off, n)
	case f.comp.chunked:
		b, err = f.loadChunks(off, n)
	default:
		if b, err = f.inflated(); err == nil {
			b = b[off : off+n : off+n]
		}
	}
	if err != nil || len(b) == 0 || memory.Address(b)%uintptr(f.index.DType(i).Size()) == 0 {
		return b, err
	}
	return append(memory.Aligned(len(b))[:0], b...), nil
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
		return nil, fail("weights", s.Offset, format.ErrKey, "they are encrypted, and no key was given")
	}
	plain, err := f.cipher.OpenAt(f.src, s.Offset, s.Size, f.head[:aadSize])
	if !errors.Is(err, format.ErrKey) {
		return plain, err
	}
	if b, err := f.src.Slice(s.Offset, s.Size); err != nil {
		return nil, err
	} else if err := f.h.compare("weights_checksum", f.h.WeightsChecksum, tensor.CRC32(b)); err != nil {
		return nil, err
	}
	return nil, f.weightsError(err, 0)
}

// inflated returns all weights, decompressed. They were compressed in one piece.
func (f *parsed) inflated() ([]byte, error) {
	return f.once(&f.whole, f.comp.Uncompressed, func() ([]byte, error) { return f.loadChunks(0, f.comp.Uncompressed) })
}

// loadChunks decompresses the chunks that hold n bytes at off, several at a time.
func (f *parsed) loadChunks(off, n int64) ([]byte, error) {
	chunks := f.comp.covering(off, n)
	first, last := chunks[0], chunks[len(chunks)-1]
	in, err := f.stored(first.stored, last.stored+last.storedSize-first.stored)
	if err != nil {
		return nil, err
	}
	each := func(do func(c *chunk, stored []byte) error) error {
		return work.Each(context.Background(), len(chunks), 0, func(i int) error {
			c := &chunks[i]
			stored := in[c.stored-first.stored:][:c.storedSize]
			return f.src.Guard(func() error { return f.weightsError(do(c, stored), c.stored) })
		})
	}
	size := last.offset + last.size - first.offset
	if size > codecs.Ahead(len(in)) { // check it before allocating memory
		if err := each(func(c *chunk, stored []byte) error { return f.expand(io.Discard, stored, c.size) }); err != nil {
			return nil, err
		}
	}
	if err := wire.CheckSize(size); err != nil {
		return nil, f.weightsError(err, first.stored)
	}
	whole := memory.Aligned(int(size))
	err = each(func(c *chunk, stored []byte) error {
		return methods[f.comp.Method].codec.DecompressInto(whole[c.offset-first.offset:][:c.size:c.size], stored)
	})
	if err != nil {
		return nil, err
	}
	return whole[off-first.offset:][:n:n], nil
}

// chunkBuffers holds memory for chunks: LZ4 is 2.5 times as fast as with new memory.
var chunkBuffers sync.Pool // of *[]byte

const mostPooled = 4 << 20

// expand decompresses in, which yields size bytes, to w, and reserves the memory it needs.
func (f *parsed) expand(w io.Writer, in []byte, size int64) error {
	c := methods[f.comp.Method].codec
	small := size <= mostPooled && size <= codecs.Ahead(len(in))
	n := size
	if !small {
		n = c.Window(in)
	}
	if err := f.memory.Reserve(n); err != nil {
		return err
	}
	defer f.memory.Release(n)
	if !small {
		return c.Expand(w, in, size)
	}
	buf, ok := chunkBuffers.Get().(*[]byte)
	if !ok || int64(cap(*buf)) < size {
		fresh := make([]byte, size)
		buf = &fresh
	}
	defer chunkBuffers.Put(buf)
	if err := c.DecompressInto((*buf)[:size], in); err != nil {
		return err
	}
	_, err := w.Write((*buf)[:size])
	return err
}

// weightsError adds the field and the file offset to an error about the stored bytes at
// off of the weights section.
func (f *parsed) weightsError(err error, off int64) error {
	if err == nil {
		return nil
	}
	return wire.Error(formatName, "weights", f.h.Weights.Offset+off, err)
}
