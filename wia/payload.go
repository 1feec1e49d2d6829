package wia

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// payload is what a block holds once it is decrypted and inflated, in private
// memory: what was checked cannot change. The tensor block alone stays in the
// file, unless it is encrypted.
type payload struct {
	protobuf.Source
	block  block
	base   int64 // file offset of the payload's first byte; -1 when it is not in the file as such
	at     int64 // file offset of the block
	inFile bool  // what is wanted is read from the file
}

// locate turns a defect into an error with a field and an offset in the file,
// or, for a block that is not stored as such, the offset of the block.
func (p *payload) locate(name string, err error) error {
	if err = protobuf.InField(name, err); err == nil {
		return nil
	}
	d, ok := err.(*protobuf.Defect)
	switch {
	case !ok:
		return err
	case p.base >= 0:
		return wire.Error(formatName, d.Path, p.base+d.At, d.Err)
	}
	return wire.Error(formatName, d.Path, p.at, fmt.Errorf("%w (at byte %d of the decoded block)", d.Err, d.At))
}

// load reads the payload of a block, of at most limit bytes if it is compressed.
func (l *parser) load(p *payload, b block, limit int64) error {
	s := l.hdr.blocks[b]
	*p = payload{block: b, base: s.off, at: s.off}
	compression, cipher := l.hdr.compression, l.cipher
	if b == signatureBlock || b == tensorBlock {
		compression = None
	}
	if b == signatureBlock {
		cipher = nil
	}
	if b != tensorBlock {
		if err := l.memory.Structure(s.size); err != nil {
			return wire.Error(formatName, b.String()+"_size", s.off, err)
		}
	}
	if err := l.o.Memory.Reserve(s.size); err != nil {
		return wire.Error(formatName, b.String(), s.off, err)
	}
	data, err := read(l.src, s, cipher, b.String())
	if err != nil {
		return err
	}
	if cipher != nil {
		p.base = -1
	}
	if compression != None {
		p.base = -1
		left := l.o.Memory.Left()
		if data, err = inflate(compression, data, min(limit, left)); err == nil {
			l.o.Memory.Release(s.size)
			err = l.o.Memory.Reserve(int64(len(data)))
		} else if left < limit && errors.Is(err, tensor.ErrLimit) {
			err = fmt.Errorf("%w (Options.MaxMemory)", err)
		}
		if err != nil {
			return wire.Error(formatName, b.String(), s.off, err)
		}
	}
	p.Source = protobuf.Source{Win: data, Size: int64(len(data))}
	return nil
}

// read returns a block in private memory, decrypted.
func read(src driver.Source, s span, cipher *seal.Cipher, name string) ([]byte, error) {
	if cipher == nil {
		return driver.Private(src, s.off, s.size)
	}
	data, err := cipher.OpenAt(src, s.off, s.size, []byte(name))
	var located *tensor.Error
	if err != nil && !errors.As(err, &located) {
		err = wire.Error(formatName, name, s.off, err)
	}
	return data, err
}

// loadTensors reads the payload of the tensor block. Only what is looked at is
// read, unless the block is encrypted: then all of it must be decrypted.
func (l *parser) loadTensors() error {
	if l.cipher != nil {
		return l.load(&l.tensors, tensorBlock, 0)
	}
	s := l.hdr.blocks[tensorBlock]
	l.tensors = payload{block: tensorBlock, base: s.off, at: s.off, inFile: true, Source: protobuf.Source{Size: s.size}}
	return nil
}

// reader returns a source over the payload, which must be closed.
func (f *parsed) reader(p *payload) *protobuf.Source {
	if p.inFile {
		return protobuf.InFile(f.src, p.base, p.Size)
	}
	return protobuf.InMemory(p.Win)
}

// slice returns the bytes from..to of a payload, which may alias the file.
func (f *parsed) slice(p *payload, from, to int64) ([]byte, error) {
	if p.inFile {
		return f.src.Slice(p.base+from, to-from)
	}
	return p.Bytes(from, to)
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

// aligned returns b, or a copy of it that is aligned for every dtype.
func aligned(b []byte) []byte {
	if memory.Address(b)%memory.Alignment == 0 {
		return b
	}
	return append(memory.Aligned(len(b))[:0], b...)
}
