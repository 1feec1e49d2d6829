package wia

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/save"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
)

// Create starts writing a model to path. It is written to a temporary file
// that takes the place of an old one on Close.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{opts: *o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a model to w: straight through, unless tensors are
// compressed, since sizes come first.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{opts: *o}).NewWriter(w, p, &o.WriteOptions)
}

// encoder writes one file.
type encoder struct {
	o         *WriteOptions
	common    *driver.WriteOptions
	t         driver.Target
	hdr       header
	meta      []byte
	graph     []byte
	items     []item
	described int          // tensors of WriteOptions.Describe that the plan has
	fixed     bool         // all offsets are known from the start; else tensors come in order
	pos       int64        // in the payload of the tensor block, where the next record goes
	block     *blockWriter // the tensor block, or its payload in memory
	from      *original    // nil when the plan has nothing native
	ext       *external.File
	sign      *signing
	cipher    *seal.Cipher // nil unless the file is encrypted
}

// encode decides what can be decided before data comes.
func encode(t driver.Target, p *driver.Plan, common *driver.WriteOptions, d *fileFormat) (*encoder, error) {
	o := &d.opts
	w := &encoder{o: o, common: common, t: t, hdr: header{magic: magic, minor: minor, compression: o.Compression, encrypted: o.Key != nil}}
	if o.Compression > Zstd {
		return nil, refuse("compression", fmt.Errorf("%w: %v", format.ErrUnsupported, o.Compression))
	}
	if o.Level < 0 || o.Level > 9 {
		return nil, refuse("level", fmt.Errorf("%w: %d", codec.ErrLevel, o.Level))
	}
	var err error
	if w.hdr.encrypted {
		if w.cipher, err = seal.New(o.Key); err != nil {
			return nil, refuse("key", err)
		}
	}
	if w.from, err = originalOf(p); err != nil {
		return nil, refuse("native", err)
	}
	var unknown []byte
	if w.from != nil {
		unknown = w.from.signature
	}
	if w.sign, err = newSigning(o.Signer, common.Signed(), unknown); err != nil {
		return nil, refuse("signer", err)
	}
	if err := w.planTensors(p); err != nil {
		return nil, err
	}
	if err := w.planStructure(p, d.metadata); err != nil {
		return nil, err
	}
	if err := w.begin(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// locations lists the external files that a model names. An encrypted one must have the
// key of the one that is written.
func (w *encoder) locations(path string) ([]string, error) {
	f, err := Open(path, &format.Options{Key: w.o.Key})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return slices.Collect(maps.Keys(f.f.spaces)), nil
}

// begin starts the file: what is known is written where the target allows.
func (w *encoder) begin() error {
	b := &w.hdr.blocks
	b[metadataBlock] = span{headerSize, int64(len(w.meta))}
	b[graphBlock] = span{b[metadataBlock].end(), int64(len(w.graph))}
	start, _ := wire.AlignUp(b[graphBlock].end(), alignment)
	b[tensorBlock] = span{start, 0}
	if w.cipher != nil {
		w.block = newBlockWriter(&save.Memory{}, 0)
	} else {
		w.block = newBlockWriter(w.t, start)
	}
	switch {
	case w.fixed:
		for i := range w.items {
			w.place(&w.items[i])
		}
	case w.cipher == nil && w.t.Sequential():
		return refuse("tensor", fmt.Errorf("%w: compressed tensors", driver.ErrSequential))
	}
	if w.fixed && w.cipher == nil {
		return w.writeFront(w.pos + w.tail())
	}
	return nil
}

// tail returns the size of the unknown fields of the tensor block.
func (w *encoder) tail() int64 {
	if w.from == nil {
		return 0
	}
	return int64(len(w.from.tail))
}

// place decides where the record of a tensor goes that is not compressed.
func (w *encoder) place(it *item) {
	it.off = w.pos
	if it.external {
		it.prefix = it.externalRecord(w.ext.Location)
		w.pos += int64(len(it.prefix))
		return
	}
	it.prefix = it.plainPrefix(w.pos)
	w.pos += int64(len(it.prefix)) + it.size
}

// writeFront writes what precedes the tensor block, which has size bytes.
func (w *encoder) writeFront(size int64) error {
	b := &w.hdr.blocks
	b[tensorBlock].size = size
	b[signatureBlock] = span{b[tensorBlock].end(), w.sign.size}
	_, err := w.t.WriteAt(slices.Concat(w.header(), w.meta, w.graph), 0)
	return err
}

// header returns the bytes of the header.
func (w *encoder) header() []byte {
	var out wire.Buffer
	w.hdr.append(&out)
	return out.Bytes()
}

// Tensor implements driver.Encoder.
func (w *encoder) Tensor(i int, in driver.Input) error {
	it := &w.items[i]
	if it.codec != None {
		return w.compress(it, in)
	}
	if !w.fixed {
		w.place(it)
	}
	if it.external {
		h := sha256.New()
		err := w.ext.Write(it.at, in, h)
		h.Sum(it.sum.sum[:0])
		return err
	}
	if err := w.block.write(it.prefix, it.off); err != nil {
		return err
	}
	at := it.off + int64(len(it.prefix))
	return in.Each(func(p []byte) error {
		err := w.block.write(p, at)
		at += int64(len(p))
		return err
	})
}

// compress writes a compressed tensor: first behind room for the longest prefix, which says
// how long the data is, and then to where it belongs.
func (w *encoder) compress(it *item, in driver.Input) error {
	z, err := codecOf(it.codec)
	if err != nil {
		return err
	}
	from := w.pos + int64(len(it.compressedPrefix(math.MaxInt64)))
	to := io.NewOffsetWriter(w.block.t, w.block.base+from)
	zw, err := z.NewWriter(to, w.o.Level, it.size)
	if err != nil {
		return err
	}
	err = in.Each(func(p []byte) error {
		_, err := zw.Write(p)
		return err
	})
	if err == nil {
		err = zw.Close()
	}
	if err != nil {
		return err
	}
	stored, _ := to.Seek(0, io.SeekCurrent)
	prefix := it.compressedPrefix(stored)
	if err := w.block.write(prefix, w.pos); err != nil {
		return err
	}
	w.pos += int64(len(prefix))
	err = w.block.read(w.common.Context, from, from+stored, func(p []byte, off int64) error {
		return w.block.write(p, off-from+w.pos)
	})
	w.pos += stored
	return err
}

// records puts the external data in place and writes the messages of its tensors,
// which say where it is.
func (w *encoder) records() error {
	if w.ext == nil {
		return nil
	}
	if err := w.ext.Finish(!w.common.NoSync); err != nil {
		return err
	}
	for i := range w.items {
		if it := &w.items[i]; it.external {
			if err := w.block.write(it.externalRecord(w.ext.Location), it.off); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish implements driver.Encoder.
func (w *encoder) Finish() error {
	if err := w.records(); err != nil {
		return err
	}
	size := w.pos + w.tail()
	if w.from != nil {
		if err := w.block.write(w.from.tail, w.pos); err != nil {
			return err
		}
	}
	if w.cipher != nil {
		stored, err := w.cipher.Seal(w.block.t.(*save.Memory).Bytes()[:size], []byte(tensorBlock.String()))
		if err != nil {
			return err
		}
		size = int64(len(stored))
		w.block = newBlockWriter(w.t, w.hdr.blocks[tensorBlock].off)
		if err := w.writeFront(size); err != nil {
			return err
		}
		if err := w.block.write(stored, 0); err != nil {
			return err
		}
	} else if !w.fixed {
		if err := w.writeFront(size); err != nil {
			return err
		}
	}
	return w.writeSignature(size)
}

// writeSignature writes the signature block.
func (w *encoder) writeSignature(size int64) error {
	sum, err := w.block.sum(w.common.Context, size)
	if err != nil {
		return err
	}
	b, err := w.sign.block(sumsOf(w.header(), w.meta, w.graph, sum))
	if err != nil {
		return err
	}
	s := w.hdr.blocks[signatureBlock]
	if _, err = w.t.WriteAt(b, s.off); err != nil {
		return err
	}
	return w.t.Truncate(s.end())
}

// Close frees what the encoder holds besides the target.
func (w *encoder) Close() error {
	if w.ext != nil {
		w.ext.Abort()
	}
	return nil
}

// blockWriter writes the tensor block and hashes it on the way, as long as it
// is written from front to back; the rest is read back in the end.
type blockWriter struct {
	t      driver.Target
	base   int64
	h      hash.Hash
	hashed int64
}

func newBlockWriter(t driver.Target, base int64) *blockWriter {
	return &blockWriter{t: t, base: base, h: sha256.New()}
}

func (w *blockWriter) write(p []byte, off int64) error {
	if off == w.hashed {
		w.h.Write(p)
		w.hashed += int64(len(p))
	}
	_, err := w.t.WriteAt(p, w.base+off)
	return err
}

// read calls f with what was written, one piece after the other.
func (w *blockWriter) read(ctx context.Context, from, to int64, f func(p []byte, off int64) error) error {
	buf := make([]byte, min(to-from, work.Step))
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := buf[:min(int64(len(buf)), to-from)]
		if n, err := w.t.ReadAt(p, w.base+from); n < len(p) {
			return fmt.Errorf("reading back what was written: %w", err)
		}
		if err := f(p, from); err != nil {
			return err
		}
		from += int64(len(p))
	}
	return nil
}

// sum returns the SHA-256 of the block, which has size bytes.
func (w *blockWriter) sum(ctx context.Context, size int64) (sum [sha256.Size]byte, err error) {
	err = w.read(ctx, w.hashed, size, func(p []byte, _ int64) error {
		_, err := w.h.Write(p)
		return err
	})
	w.h.Sum(sum[:0])
	return sum, err
}
