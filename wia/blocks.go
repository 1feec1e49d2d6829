package wia

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// payload is what a block holds once it is decrypted and inflated.
type payload struct {
	source
	block   block
	windows *windows // behind a reader, when not all is in memory
	base    int64    // file offset of the payload's first byte; -1 when it is not in the file as such
	at      int64    // file offset of the block
}

// locate turns a defect into an error with a field and an offset in the file,
// or, for a block that is not stored as such, the offset of the block.
func (p *payload) locate(name string, err error) error {
	if err = under(name, err); err == nil {
		return nil
	}
	d, ok := err.(*defect)
	switch {
	case !ok:
		return err
	case p.base >= 0:
		return wire.Error(formatName, d.path, p.base+d.at, d.err)
	}
	return wire.Error(formatName, d.path, p.at, fmt.Errorf("%w (at byte %d of the decoded block)", d.err, d.at))
}

// loader reads the blocks of a file.
type loader struct {
	r   *mapped.Region
	hdr *header
	o   *format.Options
}

// load returns the payload of the metadata or graph block, at most limit bytes
// if it is compressed, or of the signature block.
func (l *loader) load(b block, limit int64) (*payload, error) {
	s := l.hdr.blocks[b]
	p := &payload{block: b, base: s.off, at: s.off}
	encrypted := l.hdr.encrypted && b != signatureBlock
	compression := l.hdr.compression
	if b == signatureBlock || b == tensorBlock {
		compression = None
	}
	if !l.r.InMemory() && b != tensorBlock && s.size > l.o.MaxHeaderBytes {
		return nil, wire.Errorf(formatName, b.String()+"_size", s.off, tensor.ErrLimit, "%d bytes, the limit is %d", s.size, l.o.MaxHeaderBytes)
	}
	data, err := l.r.Slice(s.off, s.size)
	if err != nil {
		return nil, err
	}
	if encrypted {
		p.base = -1
		if data, err = decrypt(l.o.Key, b, data); err != nil {
			return nil, wire.Error(formatName, b.String(), s.off, err)
		}
	}
	if compression != None {
		p.base = -1
		if data, err = inflate(compression, data, limit); err != nil {
			return nil, wire.Error(formatName, b.String(), s.off, err)
		}
	}
	p.source = source{win: data, size: int64(len(data))}
	return p, nil
}

// loadTensors returns the payload of the tensor block. Behind a reader only what
// is looked at is read, unless it is encrypted: then all of it must be decrypted.
func (l *loader) loadTensors() (*payload, error) {
	if l.r.InMemory() || l.hdr.encrypted {
		return l.load(tensorBlock, 0)
	}
	s := l.hdr.blocks[tensorBlock]
	p := &payload{block: tensorBlock, base: s.off, at: s.off, source: source{size: s.size}}
	p.windows = &windows{r: l.r, base: s.off, size: s.size}
	p.fill = p.windows.fill
	return p, nil
}

// windows reads a block behind a reader piece by piece: small pieces where
// data are jumped over, larger and larger ones where all is looked at.
type windows struct {
	r          *mapped.Region
	base, size int64
	next       int64 // where the last window ended
	n          int64 // its size
}

const (
	minWindow = 512
	maxWindow = 256 << 10
)

func (w *windows) fill(at, n int64) ([]byte, error) {
	if at <= w.next && at > w.next-64 {
		w.n = min(2*w.n, maxWindow)
	} else {
		w.n = minWindow
	}
	w.n = max(w.n, minWindow)
	n = min(max(n, w.n), w.size-at)
	w.next = at + n
	return w.r.Slice(w.base+at, n)
}

// codecOf returns the codec of a compression, which is not None.
func codecOf(c Compression) (codec.Streamer, error) {
	switch c {
	case Gzip:
		return gzip.Codec, nil
	case Zstd:
		return zstd.Codec, nil
	}
	return nil, fmt.Errorf("%w: %v", format.ErrUnsupported, c)
}

// inflate undoes the compression of a whole block.
func inflate(c Compression, data []byte, limit int64) ([]byte, error) {
	z, err := codecOf(c)
	if err != nil {
		return nil, err
	}
	return z.DecompressMax(data, limit)
}

const (
	keySize   = 32
	nonceSize = 12
	tagSize   = 16
)

// newGCM checks the key and makes the cipher of encryption 1.
func newGCM(key []byte) (cipher.AEAD, error) {
	if len(key) == 0 {
		return nil, fmt.Errorf("%w: the file is encrypted", format.ErrKey)
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("%w: a key has %d bytes, not %d", format.ErrKey, keySize, len(key))
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrKey, err)
	}
	return cipher.NewGCM(b)
}

// decrypt opens nonce || ciphertext || tag into aligned memory. The name of the
// block is authenticated too, so that blocks cannot be exchanged.
func decrypt(key []byte, b block, data []byte) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	if len(data) < nonceSize+tagSize {
		return nil, fmt.Errorf("%w: an encrypted block of %d bytes", tensor.ErrCorrupt, len(data))
	}
	out := tensor.AlignedBytes(len(data) - nonceSize - tagSize)
	if _, err = gcm.Open(out[:0], data[:nonceSize], data[nonceSize:], []byte(b.String())); err != nil {
		return nil, fmt.Errorf("%w, or the %v block was tampered with", format.ErrKey, b)
	}
	return out, nil
}
