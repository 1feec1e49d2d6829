package mle

import (
	"errors"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// store keeps weights that are not in the file as such: decrypted, and
// decompressed where all tensors are compressed together. Each is made when
// the first tensor is asked for, once, and kept until Close.
type store struct {
	cipher *seal.Cipher // nil without key
	mu     sync.Mutex
	plain  once // decrypted section
	whole  once // decompressed section
}

// once is the outcome of something that is done once. Only lasting failures are
// kept: what a reader could not fetch may be there the next time.
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
	return o.b, o.err
}

// setKey prepares decryption. A key for a file that is not encrypted is ignored.
func (s *store) setKey(h *Header, key []byte) error {
	if key == nil || !h.Features.Has(Encryption) {
		return nil
	}
	c, err := seal.New(key)
	if err != nil {
		return wire.Error(formatName, "key", -1, err)
	}
	s.cipher = c
	return nil
}

// Close implements io.Closer: it forgets the weights. Nobody is at work any more.
func (f *parsed) Close() error {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.plain, f.store.whole = once{}, once{}
	return nil
}

// needsKey reports whether the weights are encrypted and there is no key.
func (f *parsed) needsKey() bool { return f.h.Features.Has(Encryption) && f.store.cipher == nil }

// Load implements driver.Parsed.
func (f *parsed) Load(i int) ([]byte, error) {
	off, n := f.lazy[i], f.index.Size(i)
	var b []byte
	var err error
	switch {
	case f.comp == nil || f.comp.method == MethodNone:
		b, err = f.stored(off, n)
	case f.comp.chunked:
		b, err = f.loadChunks(off, n, 0)
	default:
		if b, err = f.inflated(); err == nil {
			b = b[off : off+n : off+n]
		}
	}
	if err != nil {
		return nil, err
	}
	return aligned(b, f.index.DType(i)), nil
}

// Shares implements driver.Parsed: parts of the decrypted or the decompressed section.
func (f *parsed) Shares(int) bool {
	return f.comp == nil || !f.comp.chunked || f.comp.method == MethodNone
}

// aligned returns b, or a copy of it that is aligned for dtype d.
func aligned(b []byte, d tensor.DType) []byte {
	if len(b) == 0 || memory.Address(b)%uintptr(d.Size()) == 0 {
		return b
	}
	return append(memory.Aligned(len(b))[:0], b...)
}

// weightsOffset returns where tensor i begins in the uncompressed weights.
func (f *parsed) weightsOffset(i int) int64 {
	if f.lazy != nil {
		return f.lazy[i]
	}
	_, off, _ := f.index.Place(i)
	return off - f.h.Weights.Offset
}

// stored returns n bytes at off of the weights section, decrypted.
func (f *parsed) stored(off, n int64) ([]byte, error) {
	if !f.h.Features.Has(Encryption) {
		return f.src.Slice(f.h.Weights.Offset+off, n)
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
func (f *parsed) decrypt() ([]byte, error) {
	s := f.h.Weights
	if f.store.cipher == nil {
		return nil, fail("weights", s.Offset, format.ErrKey, "they are encrypted, and no key was given")
	}
	if err := f.memory.Reserve(s.Size); err != nil {
		return nil, f.weightsError(err, 0)
	}
	kept := false
	defer func() {
		if !kept { // with an error, a fault, or a panic of the reader
			f.memory.Release(s.Size)
		}
	}()
	b, err := f.src.Slice(s.Offset, s.Size)
	if err != nil {
		return nil, err
	}
	plain, err := f.store.cipher.Open(b, f.head[:aadSize])
	if kept = err == nil; kept {
		return plain, nil
	}
	if sum := tensor.CRC32(b); f.h.WeightsChecksum != 0 && sum != f.h.WeightsChecksum {
		return nil, weightsSumError(f.h.WeightsChecksum, sum)
	}
	return nil, wire.Error(formatName, "weights", s.Offset, err)
}

// inflated returns the whole weights, which were compressed in one piece.
func (f *parsed) inflated() ([]byte, error) {
	in, err := f.stored(0, f.h.plainSize())
	if err != nil {
		return nil, err
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.store.whole.get(func() ([]byte, error) {
		if err := f.memory.Reserve(f.comp.size); err != nil {
			return nil, f.weightsError(err, 0)
		}
		kept := false
		defer func() {
			if !kept { // with an error, or a fault
				f.memory.Release(f.comp.size)
			}
		}()
		b, err := codecOf(f.comp.method).Decompress(in, f.comp.size)
		kept = err == nil
		return b, f.weightsError(err, 0)
	})
}

// weightsError locates an error of decompression of the bytes at off of the
// weights section.
func (f *parsed) weightsError(err error, off int64) error {
	if err == nil {
		return nil
	}
	return wire.Error(formatName, "weights", f.h.Weights.Offset+off, err)
}
