package wia

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
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
	o     *WriteOptions
	from  *original // what Rewrite carries over; nil else
	w     *driver.WriteOptions
	t     driver.Target
	hdr   header
	meta  []byte
	graph []byte
	items []item
	fixed bool // all offsets are known from the start
	next  int  // the first item whose offset is not known yet
	pos   int64
	tail  []byte         // unknown fields of the tensor block
	block *blockWriter   // nil when it is assembled in memory
	heap  *sink.Memory   // payload of an encrypted tensor block
	ext   *external.File // nil without external data
	sign  *signing

	cipher *seal.Cipher // nil unless the file is encrypted
}

// encode decides what can be decided before data comes.
func encode(t driver.Target, p *driver.Plan, common *driver.WriteOptions, d *fileFormat) (*encoder, error) {
	o := &d.opts
	w := &encoder{o: o, from: d.from, w: common, t: t, hdr: header{magic: magic, minor: minor, compression: o.Compression, encrypted: o.Key != nil}}
	if o.Compression > Zstd {
		return nil, w.refuse("compression", fmt.Errorf("%w: %v", format.ErrUnsupported, o.Compression))
	}
	if o.Level < 0 || o.Level > 9 {
		return nil, w.refuse("level", fmt.Errorf("%w: %d", codec.ErrLevel, o.Level))
	}
	var err error
	if w.hdr.encrypted {
		if w.cipher, err = seal.New(o.Key); err != nil {
			return nil, w.refuse("key", err)
		}
	}
	var unknown []byte
	if w.from == nil {
		if w.from, _, err = carry(p); err != nil {
			return nil, w.refuse("native", err)
		}
	}
	if w.from != nil {
		unknown, w.tail = w.from.signature, w.from.tail
	}
	if w.sign, err = newSigning(o.Signer, common.Signed(), unknown); err != nil {
		return nil, w.refuse("signer", err)
	}
	if err := w.planTensors(p); err != nil {
		return nil, err
	}
	if err := w.planStructure(p); err != nil {
		return nil, err
	}
	for w.next < len(w.items) && (w.fixed || w.items[w.next].external) {
		w.advance(0)
	}
	if err := w.begin(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// advance decides the offset of the next item, whose data takes stored bytes if it
// is compressed, and returns it.
func (w *encoder) advance(stored int64) *item {
	it := &w.items[w.next]
	it.off = w.pos
	switch {
	case it.external:
		// Location and checksum are not known yet, but their lengths are.
		it.prefix = protobuf.PutMessage(nil, 1, tensorMsg, &it.message)
		w.pos += int64(len(it.prefix))
	case it.codec != None:
		it.prefix = compressedPrefix(it, stored)
		w.pos += int64(len(it.prefix)) + stored
	default:
		it.prefix = plainPrefix(&it.message, w.pos, it.size)
		w.pos += int64(len(it.prefix)) + it.size
	}
	it.located = true
	w.next++
	return it
}

// begin starts the file: what is known is written where the target allows.
func (w *encoder) begin() error {
	b := &w.hdr.blocks
	b[metadataBlock] = span{headerSize, int64(len(w.meta))}
	b[graphBlock] = span{b[metadataBlock].end(), int64(len(w.graph))}
	start, _ := wire.AlignUp(b[graphBlock].end(), alignment)
	b[tensorBlock] = span{start, 0}
	if w.hdr.encrypted {
		w.heap = &sink.Memory{}
		return nil
	}
	if !w.fixed && w.t.Sequential() {
		return w.refuse("tensor", fmt.Errorf("%w: compressed tensors", driver.ErrSequential))
	}
	w.block = newBlockWriter(w.t, start)
	if !w.fixed {
		return nil
	}
	w.setSize(w.pos + int64(len(w.tail)))
	return w.writeFront()
}

// setSize fixes the size of the tensor block and with it the header.
func (w *encoder) setSize(size int64) {
	b := &w.hdr.blocks
	b[tensorBlock].size = size
	b[signatureBlock] = span{b[tensorBlock].end(), w.sign.size}
}

// writeFront writes what precedes the tensor block.
func (w *encoder) writeFront() error {
	var out wire.Buffer
	w.hdr.append(&out)
	out.Raw(w.meta)
	out.Raw(w.graph)
	_, err := w.t.WriteAt(out.Bytes(), 0)
	return err
}

// Tensor implements driver.Encoder. In the order of the plan data goes where it
// belongs at once; where offsets depend on compressed sizes, data that comes before
// its turn waits in a blob.
func (w *encoder) Tensor(i int, in driver.Input) error {
	it := &w.items[i]
	switch {
	case it.external:
		return writeExternal(w.ext, it.message.External, in)
	case it.located:
		return w.plain(it, in)
	case it.codec == None && i == w.next:
		w.advance(0)
		if err := w.plain(it, in); err != nil {
			return err
		}
		return w.catchUp()
	}
	b, err := w.collect(it, in)
	if err != nil {
		return err
	}
	it.waiting = b
	return w.catchUp()
}

// records puts the external data in place and writes the messages of its tensors,
// which say where it is.
func (w *encoder) records() error {
	if w.ext == nil {
		return nil
	}
	if err := w.ext.Finish(!w.w.NoSync); err != nil {
		return err
	}
	for i := range w.items {
		it := &w.items[i]
		if !it.external {
			continue
		}
		it.message.External.Location = w.ext.Location
		if err := w.write(protobuf.PutMessage(nil, 1, tensorMsg, &it.message), it.off); err != nil {
			return err
		}
	}
	return nil
}

// plain writes prefix and data of a tensor whose offset is known.
func (w *encoder) plain(it *item, in driver.Input) error {
	if err := w.write(it.prefix, it.off); err != nil {
		return err
	}
	at := it.off + int64(len(it.prefix))
	return in.Each(func(p []byte) error {
		err := w.write(p, at)
		at += int64(len(p))
		return err
	})
}

// collect gathers what a tensor will take in the file.
func (w *encoder) collect(it *item, in driver.Input) (*blob, error) {
	b := &blob{}
	it.waiting = b // for Close to remove, whatever happens
	if it.codec == None {
		return b, in.Each(func(p []byte) error {
			_, err := b.Write(p)
			return err
		})
	}
	z, err := codecOf(it.codec)
	if err != nil {
		return nil, err
	}
	zw, err := z.NewWriter(b, w.o.Level, it.size)
	if err != nil {
		return nil, err
	}
	err = in.Each(func(p []byte) error {
		_, err := zw.Write(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, zw.Close()
}

// catchUp writes the tensors that waited for those before them. Records of external
// tensors need no data.
func (w *encoder) catchUp() error {
	for w.next < len(w.items) {
		if w.items[w.next].external {
			w.advance(0)
			continue
		}
		b := w.items[w.next].waiting
		if b == nil {
			return nil
		}
		it := w.advance(b.size)
		err := w.write(it.prefix, it.off)
		if err == nil {
			err = b.each(func(p []byte, off int64) error { return w.write(p, it.off+int64(len(it.prefix))+off) })
		}
		b.remove()
		it.waiting = nil
		if err != nil {
			return err
		}
	}
	return nil
}

// write puts bytes into the payload of the tensor block.
func (w *encoder) write(p []byte, off int64) error {
	if w.heap != nil {
		_, err := w.heap.WriteAt(p, off)
		return err
	}
	return w.block.write(p, off)
}

// Finish implements driver.Encoder.
func (w *encoder) Finish() error {
	if err := w.records(); err != nil {
		return err
	}
	if err := w.write(w.tail, w.pos); err != nil {
		return err
	}
	size := w.pos + int64(len(w.tail))
	if w.heap != nil {
		stored, err := w.cipher.Seal(w.heap.Bytes(), []byte(tensorBlock.String()))
		if err != nil {
			return err
		}
		w.heap, size = nil, int64(len(stored))
		w.setSize(size)
		if err := w.writeFront(); err != nil {
			return err
		}
		w.block = newBlockWriter(w.t, w.hdr.blocks[tensorBlock].off)
		if err := w.block.write(stored, 0); err != nil {
			return err
		}
	} else if !w.fixed {
		w.setSize(size)
		if err := w.writeFront(); err != nil {
			return err
		}
	}
	return w.writeSignature(size)
}

// writeSignature writes the signature block.
func (w *encoder) writeSignature(size int64) error {
	sum, err := w.block.sum(w.w.Context, size)
	if err != nil {
		return err
	}
	var front wire.Buffer
	w.hdr.append(&front)
	b, err := w.sign.block(sumsOf(front.Bytes(), w.meta, w.graph, sum))
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
	for i := range w.items {
		if b := w.items[i].waiting; b != nil {
			b.remove()
		}
	}
	if w.ext != nil {
		w.ext.Abort()
	}
	w.items = nil
	return nil
}
