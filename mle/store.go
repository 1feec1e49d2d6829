package mle

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// store keeps weights that do not lie in the file as such: decrypted, and
// decompressed where all tensors are compressed together. Each is made when
// the first tensor is asked for, once, and kept until Close.
type store struct {
	aead  cipher.AEAD // nil without key
	mu    sync.Mutex
	plain once // decrypted section
	whole once // decompressed section
}

// once is the outcome of something that is done once. Only lasting failures are
// kept: what a reader could not fetch may be there the next time. Each caller
// gets an error of his own, since callers add to it what they know.
type once struct {
	done bool
	b    []byte
	err  error
}

func (o *once) get(make func() ([]byte, error)) ([]byte, error) {
	if !o.done {
		o.b, o.err = make()
		o.done = o.err == nil || errors.Is(o.err, format.ErrCorrupt) || errors.Is(o.err, format.ErrKey) || errors.Is(o.err, format.ErrChecksum)
	}
	return o.kept()
}

// kept returns what is there without making it.
func (o *once) kept() ([]byte, error) {
	if e, ok := o.err.(*format.Error); ok {
		own := *e
		return o.b, &own
	}
	return o.b, o.err
}

// setKey prepares decryption. A key for a file that is not encrypted is ignored.
func (s *store) setKey(h *Header, key []byte) error {
	if len(key) == 0 || !h.Features.Has(Encryption) {
		return nil
	}
	var err error
	s.aead, err = newAEAD(key)
	return err
}

// newAEAD makes the cipher of a 32-byte key.
func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, wire.Errorf(formatName, "key", -1, format.ErrKey, "%d bytes, AES-256 takes 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, wire.Error(formatName, "key", -1, err)
	}
	return cipher.NewGCM(block)
}

// drop forgets the weights. Close has made sure that nobody is at work.
func (s *store) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain, s.whole = once{}, once{}
}

// Locked reports whether the weights are encrypted and no key was given.
func (f *File) Locked() bool { return f.h.Features.Has(Encryption) && f.store.aead == nil }

// stored returns n bytes at off of the weights section, decrypted.
func (f *File) stored(off, n int64) ([]byte, error) {
	if !f.h.Features.Has(Encryption) {
		return f.Region().Slice(f.h.Weights.Offset+off, n)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	b, err := f.store.plain.get(f.decrypt)
	if err != nil {
		return nil, err
	}
	return b[off : off+n : off+n], nil
}

// decrypt opens the whole section: AES-GCM vouches for all of it or nothing.
func (f *File) decrypt() ([]byte, error) {
	s := f.h.Weights
	if f.store.aead == nil {
		return nil, fail("weights", s.Offset, format.ErrKey, "they are encrypted, and no key was given")
	}
	b, err := f.Region().Slice(s.Offset, s.Size)
	if err != nil {
		return nil, err
	}
	out, err := buffer(f.h.plainSize())
	if err != nil {
		return nil, f.weightsError(err, 0)
	}
	plain, err := f.store.aead.Open(out[:0], b[:nonceSize], b[nonceSize:], f.head[:aadSize])
	if err != nil {
		if sum := tensor.CRC32(b); f.h.WeightsChecksum != 0 && sum != f.h.WeightsChecksum {
			return nil, sumError("weights_checksum", atChecksums+8, f.h.WeightsChecksum, sum)
		}
		return nil, fail("weights", s.Offset, format.ErrKey, "the key does not open them")
	}
	return plain, nil
}

// load is the catalog's Fetch: it returns the bytes of tensor i when they do
// not lie in the file as such.
func (f *File) load(i int) ([]byte, error) {
	off, n := f.lazy[i], f.Info(i).Size
	var b []byte
	var err error
	switch {
	case f.comp == nil || f.comp.method == MethodNone:
		b, err = f.stored(off, n)
	case f.comp.chunked:
		b, err = f.loadChunks(context.Background(), off, n, 0)
	default:
		if b, err = f.inflated(); err == nil {
			b = b[off : off+n : off+n]
		}
	}
	if err != nil {
		return nil, err
	}
	return aligned(b, f.Info(i).DType), nil
}

// aligned returns b, or a copy of it that is aligned for dtype d.
func aligned(b []byte, d tensor.DType) []byte {
	if len(b) == 0 || tensor.Address(b)%uintptr(d.Size()) == 0 {
		return b
	}
	return append(tensor.AlignedBytes(len(b))[:0], b...)
}

// inflated returns the whole weights, which were compressed in one piece.
func (f *File) inflated() ([]byte, error) {
	in, err := f.stored(0, f.h.plainSize())
	if err != nil {
		return nil, err
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.store.whole.get(func() ([]byte, error) {
		b, err := decompress(f.comp.method, in, f.comp.size)
		return b, f.weightsError(err, 0)
	})
}

// weightsError places an error of decompression of the bytes at off of the
// weights section.
func (f *File) weightsError(err error, off int64) error {
	if err == nil {
		return nil
	}
	return wire.Error(formatName, "weights", f.h.Weights.Offset+off, err)
}

// loadChunks decompresses the chunks that hold n bytes at off, several at a
// time, and no others.
func (f *File) loadChunks(ctx context.Context, off, n int64, workers int) ([]byte, error) {
	first, last := f.comp.covering(off, n)
	from, to := f.comp.chunk(first), f.comp.chunk(last-1)
	in, err := f.stored(from.stored, to.stored+to.storedSz-from.stored)
	if err != nil {
		return nil, err
	}
	begin, end := from.offset, to.offset+to.size
	parts, err := newParts(f.comp.method, end-begin, int64(len(in)), last-first)
	if err != nil {
		return nil, f.weightsError(err, from.stored)
	}
	err = work.Each(ctx, last-first, workers, func(i int) error {
		c := f.comp.chunk(first + i)
		stored := in[c.stored-from.stored:][:c.storedSz]
		return f.Region().Guard(func() error {
			return f.weightsError(parts.decompress(i, stored, c.offset-begin, c.size), c.stored)
		})
	})
	if err != nil {
		return nil, err
	}
	whole, err := parts.join()
	if err != nil {
		return nil, f.weightsError(err, from.stored)
	}
	return whole[off-begin:][:n:n], nil
}
