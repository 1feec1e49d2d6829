package wia

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/wire"
)

// Layout implements driver.Writer. The offset of a tensor depends on the
// compressed sizes of the tensors before it. An encrypted tensor block is
// assembled in memory.
func (d fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	c, err := d.settings(o)
	if err != nil {
		return nil, err
	}
	w := &encoder{o: c}
	err = w.prepare(p)
	if err != nil {
		return nil, err
	}
	return &driver.Layout{
		Streams:  w.fixed || w.cipher != nil,
		Ordered:  !w.fixed,
		Secret:   w.cipher != nil,
		External: w.ext,
		Encode:   w.start,
	}, nil
}

// encoder writes one file.
type encoder struct {
	o      *settings
	t      driver.Target
	hdr    header
	stored [tensorBlock][]byte // the blocks before it
	items  []item
	fixed  bool        // all offsets are known in advance; else tensors arrive in order
	pos    int64       // offset of the next record in the payload of the tensor block
	block  blockWriter // the tensor block, or its payload in memory
	from   *original
	docs   onnxgraph.Docs
	ext    *driver.External // nil if it cannot have a name
	sign   signatures
	cipher *seal.Cipher // nil unless the file is encrypted

	isFinished bool
}

// start begins writing to t. If all offsets are known, it writes what precedes
// the tensor block.
func (w *encoder) start(t driver.Target) (driver.Encoder, error) {
	w.t = t
	w.block = blockWriter{t: t, base: w.hdr.blocks[tensorBlock].off, h: sha256.New()}
	switch {
	case w.cipher != nil:
		w.block.t = &target.Memory{}
		w.block.base = 0
	case w.fixed:
		return w, w.writeFront(w.pos + int64(len(w.from.tail)))
	case t.Sequential():
		return nil, wire.Refuse(formatName, "tensor", "%w: compressed tensors", driver.ErrSequential)
	}
	return w, nil
}

// place sets the offset and the prefix of the record of an uncompressed tensor.
func (w *encoder) place(it *item) {
	it.off = w.pos
	it.prefix = w.record(it, w.pos, it.size)
	w.pos += int64(len(it.prefix))
	if !it.external {
		w.pos += it.size
	}
}

// writeFront writes what precedes the tensor block, which has size bytes.
func (w *encoder) writeFront(size int64) error {
	b := &w.hdr.blocks
	b[tensorBlock].size = size
	b[signatureBlock].off = b[tensorBlock].end()
	w.stored[headerBlock] = w.hdr.bytes()
	_, err := w.t.WriteAt(slices.Concat(w.stored[:]...), 0)
	return err
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
		err := in.CopyTo(w.ext.File, it.at, h)
		h.Sum(it.sum[:0])
		return err
	}
	return w.block.record(it.prefix, it.off, in)
}

// compress writes a compressed tensor. The prefix states the length of the data,
// so it writes the data behind room for the longest prefix, then the prefix, and
// moves the data up to it.
func (w *encoder) compress(it *item, in driver.Input) error {
	longest := w.record(it, 0, math.MaxInt64)
	from := w.pos + int64(len(longest))
	to := io.NewOffsetWriter(w.block.t, w.block.base+from)
	z, err := codecs[it.codec].NewWriter(to, w.o.common.Level, it.size)
	if err != nil {
		return err
	}
	_, err = io.Copy(z, in)
	if err != nil {
		return err
	}
	err = z.Close()
	if err != nil {
		return err
	}
	stored, _ := to.Seek(0, io.SeekCurrent)
	prefix := w.record(it, 0, stored)
	off := w.pos
	w.pos += int64(len(prefix)) + stored
	return w.block.record(prefix, off, w.block.written(w.o.common.Context, from, stored))
}

// Finish implements driver.Encoder. Only now the location of external data is known, in the records
// that refer to it.
func (w *encoder) Finish() error {
	block := w.block
	b := &block
	if w.isFinished { // with another location
		b.h = sha256.New()
		b.hashed = 0
	}
	w.isFinished = true
	for i := range w.items {
		it := &w.items[i]
		if it.external {
			b.write(w.externalRecord(it), it.off)
		}
	}
	b.write(w.from.tail, w.pos)
	if b.err != nil {
		return b.err
	}
	size := w.pos + int64(len(w.from.tail))
	var err error
	switch {
	case w.cipher != nil:
		size, err = w.encrypt(b, size)
	case !w.fixed:
		err = w.writeFront(size)
	}
	if err != nil {
		return err
	}
	w.sign.sums[tensorBlock], err = b.sum(w.o.common.Context, size)
	if err != nil {
		return err
	}
	return w.finishSignature()
}

// encrypt writes what precedes the tensor block, and then the block, which b has in memory. It
// returns the size of the encrypted block.
func (w *encoder) encrypt(b *blockWriter, size int64) (int64, error) {
	plain := b.t.(*target.Memory).Bytes()[:size]
	stored, err := w.cipher.Seal(plain, []byte(tensorBlock.String()))
	if err != nil {
		return 0, err
	}
	size = int64(len(stored))
	err = w.writeFront(size)
	if err != nil {
		return 0, err
	}
	*b = blockWriter{t: w.t, base: w.hdr.blocks[tensorBlock].off, h: sha256.New()}
	b.write(stored, 0)
	return size, b.err
}

// finishSignature writes the signature block, which ends the file.
func (w *encoder) finishSignature() error {
	for b, stored := range w.stored {
		sum := sha256.Sum256(stored)
		w.sign.sums[b] = sum[:]
	}
	s := w.hdr.blocks[signatureBlock]
	signature, err := w.sign.sign(w.o.common.Signer, s.size)
	if err != nil {
		return err
	}
	_, err = w.t.WriteAt(signature, s.off)
	if err != nil {
		return err
	}
	return w.t.Truncate(s.end())
}

// blockWriter writes the tensor block. It hashes the bytes written in order; sum
// reads the rest back.
type blockWriter struct {
	t      driver.Target
	base   int64
	h      hash.Hash
	hashed int64
	err    error // the first
}

func (w *blockWriter) write(p []byte, off int64) {
	if w.err != nil {
		return
	}
	if off == w.hashed {
		w.h.Write(p)
		w.hashed += int64(len(p))
	}
	_, w.err = w.t.WriteAt(p, w.base+off)
}

// record writes the record of a tensor at off: what precedes its data, and the data.
func (w *blockWriter) record(prefix []byte, off int64, in driver.Input) error {
	w.write(prefix, off)
	if w.err != nil {
		return w.err
	}
	off += int64(len(prefix))
	if off != w.hashed {
		return in.CopyTo(w.t, w.base+off, nil)
	}
	w.hashed += in.Size()
	return in.CopyTo(w.t, w.base+off, w.h)
}

// written reads back size bytes of the block.
func (w *blockWriter) written(ctx context.Context, off, size int64) driver.Input {
	return target.NewInput(ctx, io.NewSectionReader(w.t, w.base+off, size), size)
}

// sum returns the SHA-256 of the block, which has size bytes.
func (w *blockWriter) sum(ctx context.Context, size int64) ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	rest := w.written(ctx, w.hashed, size-w.hashed)
	_, err := io.Copy(w.h, rest)
	return w.h.Sum(nil), err
}
