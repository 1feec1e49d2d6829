package wia

import (
	"crypto"
	"fmt"
	"io"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// WriteOptions are the common options and what only this format has. Nil and
// the zero value work: blocks and tensors stored as they are, with checksums.
type WriteOptions struct {
	format.WriteOptions
	// Compression says how the metadata and graph blocks are stored.
	Compression Compression
	// CompressTensor says how a tensor is stored; nil means none is compressed.
	// Compressed tensors cannot be views into the mapping, and a file with any
	// cannot be streamed (see Spool), since sizes come first.
	CompressTensor func(tensor.Info) Compression
	// Level is the compression level from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// ExternalFrom puts tensors of at least so many bytes into a file beside the
	// model; 0 means none. It needs Create: a stream has no place beside it.
	// That file replaces an older one just before the model does.
	ExternalFrom int64
	// External is the location of that file, relative to the model's directory
	// and with slashes; "" means the model's file name with ".data" added.
	External string
	// Key encrypts metadata, graph and tensor block with AES-256: 32 bytes.
	// The tensor block is then assembled in memory. External data are never
	// encrypted.
	Key []byte
	// Signer signs the checksums: an RSA key ("RSA-SHA256") or an ECDSA key on
	// P-256 ("ECDSA"). Time is recorded as the time of the signature.
	Signer crypto.Signer
	// Describe adds doc strings and properties to tensors, by name. A nil
	// Quantization there means that of the plan.
	Describe map[string]*TensorMetadata
	// Graph is written instead of the plan's graph, which is then ignored. Its
	// initializers must not carry data, but may declare any tensors of the plan.
	Graph *Graph

	like *likeness // what Rewrite keeps of the file it reads
	dir  string    // of the model
	base string    // file name of the model
}

// Create starts writing a model to path. It is written to a temporary file
// that takes the place of an old one on Close.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	c := o.withDefaults()
	c.dir, c.base = filepath.Dir(path), filepath.Base(path)
	return c.codec().CreateFile(path, p, &c.WriteOptions)
}

// NewWriter starts writing a model to w.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	c := o.withDefaults()
	return c.codec().NewWriter(w, p, &c.WriteOptions)
}

// withDefaults returns a copy. It works on nil.
func (o *WriteOptions) withDefaults() *WriteOptions {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	return &c
}

// codec returns the format's codec with these options.
func (o *WriteOptions) codec() *format.Codec {
	c := wiaCodec
	c.Encode = func(t sink.Target, p *format.Plan, common *format.WriteOptions) (format.Encoder, error) {
		own := *o
		own.WriteOptions = *common
		return encode(t, p, &own)
	}
	c.Losses = func(p *format.Plan, _ *format.WriteOptions, l *format.LossList) { o.losses(p, l) }
	return &c
}

// item is a tensor to be written.
type item struct {
	message  Tensor // without data
	unknown  []byte // unknown fields of the CompressedTensor
	codec    Compression
	external bool
	size     int64  // of the tensor
	prefix   []byte // what precedes the data in the block, padding included
	off      int64  // of the prefix in the payload
	placed   bool
	waiting  *blob // data that came before their turn
}

// modelWriter writes one file.
type modelWriter struct {
	o     *WriteOptions
	t     sink.Target
	hdr   header
	meta  []byte
	graph []byte
	items []item
	fixed bool // all places are known from the start
	next  int  // the first item that has no place yet
	pos   int64
	tail  []byte        // unknown fields of the tensor block
	block *blockWriter  // nil when it is assembled in memory
	heap  *sink.Memory  // payload of an encrypted tensor block
	ext   *externalFile // nil without external data
	sign  *signing
}

// encode lays out what can be laid out before data come.
func encode(t sink.Target, p *format.Plan, o *WriteOptions) (format.Encoder, error) {
	w := &modelWriter{o: o, t: t, hdr: header{magic: magic, minor: minor, compression: o.Compression, encrypted: len(o.Key) > 0}}
	if o.Compression > Zstd {
		return nil, w.refuse("compression", fmt.Errorf("%w: %v", format.ErrUnsupported, o.Compression))
	}
	if o.Level < 0 || o.Level > 9 {
		return nil, w.refuse("level", fmt.Errorf("%w: %d", codec.ErrLevel, o.Level))
	}
	if w.hdr.encrypted {
		if _, err := newGCM(o.Key); err != nil {
			return nil, w.refuse("key", err)
		}
	}
	var err error
	if w.sign, err = newSigning(o); err != nil {
		return nil, w.refuse("signer", err)
	}
	if err := w.planTensors(p); err != nil {
		return nil, err
	}
	if err := w.planStructure(p); err != nil {
		return nil, err
	}
	w.place()
	if err := w.begin(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// refuse is the error of a plan that cannot be written.
func (w *modelWriter) refuse(field string, err error) error {
	return wire.Error(formatName, field, -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
}

// planTensors makes the items.
func (w *modelWriter) planTensors(p *format.Plan) error {
	w.fixed = true
	w.items = make([]item, len(p.Tensors))
	for i := range p.Tensors {
		info, it := &p.Tensors[i], &w.items[i]
		it.size = info.Size
		if err := w.describe(info, it); err != nil {
			return w.refuse(fmt.Sprintf("tensor %q", info.Name), err)
		}
		it.external = w.o.ExternalFrom > 0 && info.Size >= w.o.ExternalFrom
		if w.o.CompressTensor != nil && !it.external {
			if it.codec = w.o.CompressTensor(*info); it.codec > Zstd {
				return w.refuse(fmt.Sprintf("tensor %q", info.Name), fmt.Errorf("%w: %v", format.ErrUnsupported, it.codec))
			}
		}
		w.fixed = w.fixed && it.codec == None
		if it.external && w.ext == nil {
			ext, err := newExternalFile(w.o)
			if err != nil {
				return w.refuse("external data", err)
			}
			w.ext = ext
		}
		if it.external {
			it.message.External = w.ext.reserve(info.Size)
		}
	}
	return w.checkDescribed(p)
}

// checkDescribed refuses descriptions of tensors that are not written.
func (w *modelWriter) checkDescribed(p *format.Plan) error {
	if len(w.o.Describe) == 0 {
		return nil
	}
	known := make(map[string]bool, len(p.Tensors))
	for i := range p.Tensors {
		known[p.Tensors[i].Name] = true
	}
	for name := range w.o.Describe {
		if !known[name] {
			return w.refuse(fmt.Sprintf("tensor %q", name), fmt.Errorf("%w: described, but not in the plan", tensor.ErrCorrupt))
		}
	}
	return nil
}

// describe makes the message of a tensor, without data.
func (w *modelWriter) describe(info *tensor.Info, it *item) error {
	if w.o.like != nil && w.o.like.fill(info.Name, it) {
		return nil
	}
	it.message = Tensor{Name: info.Name, Dims: info.Shape, DType: codeOf(info.DType)}
	quant, err := quantMessage(info)
	if err != nil {
		return err
	}
	if d := w.o.Describe[info.Name]; d != nil {
		meta := *d
		if meta.Quantization == nil {
			meta.Quantization = quant
		}
		it.message.Metadata = &meta
		// What the reader would refuse is not written: text that is not UTF-8.
		b := it.message.append(nil)
		return inMemory(b).check(tensorMsg, 0, int64(len(b)), 2)
	} else if quant != nil {
		it.message.Metadata = &TensorMetadata{Quantization: quant}
	}
	return nil
}

// planStructure makes the metadata and graph blocks as they will be stored.
func (w *modelWriter) planStructure(p *format.Plan) error {
	text, err := jsonmeta.Marshal(p.Metadata, jsonmeta.Options{})
	if w.o.like != nil {
		text, err = w.o.like.metadata, nil
	}
	if err != nil {
		return w.refuse("metadata", err)
	}
	var graph []byte
	g, err := w.graphMessage(p)
	if err == nil && g != nil {
		graph = g.append(nil)
		err = checkMessage(graph, p.Tensors)
	}
	if err != nil {
		return w.refuse("graph", err)
	}
	if w.meta, err = w.store(metadataBlock, text); err == nil {
		w.graph, err = w.store(graphBlock, graph)
	}
	return err
}

// graphMessage returns the graph to write, nil for none.
func (w *modelWriter) graphMessage(p *format.Plan) (*Graph, error) {
	switch {
	case w.o.like != nil:
		return w.o.like.graph, nil
	case w.o.Graph != nil:
		return w.o.Graph, nil
	case p.Graph != nil:
		return graphOf(p.Graph, p.Tensors)
	}
	return nil, nil
}

// store compresses and encrypts a whole block.
func (w *modelWriter) store(b block, payload []byte) ([]byte, error) {
	if w.o.Compression != None {
		z, err := codecOf(w.o.Compression)
		if err == nil {
			payload, err = z.Compress(payload, w.o.Level)
		}
		if err != nil {
			return nil, w.refuse("compression", err)
		}
	}
	if !w.hdr.encrypted {
		return payload, nil
	}
	return encrypt(w.o.Key, b, payload)
}

// place gives every item its place in the payload, as far as that is known.
func (w *modelWriter) place() {
	if w.o.like != nil {
		w.tail = w.o.like.tail
	}
	for w.next < len(w.items) && w.fixed {
		w.advance(0)
	}
}

// advance places the next item, whose data take stored bytes if they are
// compressed, and returns it.
func (w *modelWriter) advance(stored int64) *item {
	it := &w.items[w.next]
	it.off = w.pos
	switch {
	case it.external:
		// The checksum is not known yet, but its length is.
		it.prefix = putMessage(nil, 1, &it.message)
		w.pos += int64(len(it.prefix))
	case it.codec != None:
		it.prefix = compressedPrefix(it, stored)
		w.pos += int64(len(it.prefix)) + stored
	default:
		it.prefix = plainPrefix(&it.message, w.pos, it.size)
		w.pos += int64(len(it.prefix)) + it.size
	}
	it.placed = true
	w.next++
	return it
}

// begin starts the file: what is known is written where the target allows.
func (w *modelWriter) begin() error {
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
		return w.refuse("tensor", fmt.Errorf("%w: compressed tensors", sink.ErrSequential))
	}
	w.block = newBlockWriter(w.t, start)
	if !w.fixed {
		return nil
	}
	w.settle(w.pos + int64(len(w.tail)))
	return w.writeFront()
}

// settle fixes the size of the tensor block and with it the header.
func (w *modelWriter) settle(size int64) {
	b := &w.hdr.blocks
	b[tensorBlock].size = size
	b[signatureBlock] = span{b[tensorBlock].end(), w.sign.size}
}

// writeFront writes what precedes the tensor block.
func (w *modelWriter) writeFront() error {
	var out wire.Buffer
	w.hdr.append(&out)
	out.Raw(w.meta)
	out.Raw(w.graph)
	_, err := w.t.WriteAt(out.Bytes(), 0)
	return err
}

// Tensor takes the data of one tensor. In the order of the plan they go where
// they belong at once; where places depend on compressed sizes, data that come
// before their turn wait in a blob.
func (w *modelWriter) Tensor(i int, in *sink.Input) error {
	it := &w.items[i]
	switch {
	case it.external:
		return w.external(i, in)
	case it.placed:
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

// external writes a tensor to the file beside the model.
func (w *modelWriter) external(i int, in *sink.Input) error {
	it := &w.items[i]
	if err := w.ext.write(it.message.External, in); err != nil {
		return err
	}
	if !it.placed && i != w.next {
		it.waiting = &blob{}
		return nil
	}
	if !it.placed {
		w.advance(0)
	}
	if err := w.record(it); err != nil {
		return err
	}
	return w.catchUp()
}

// record writes the message of an external tensor, whose checksum is known now.
func (w *modelWriter) record(it *item) error {
	return w.write(putMessage(nil, 1, &it.message), it.off)
}

// plain writes prefix and data of a placed tensor.
func (w *modelWriter) plain(it *item, in *sink.Input) error {
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
func (w *modelWriter) collect(it *item, in *sink.Input) (*blob, error) {
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

// catchUp writes the tensors that waited for those before them.
func (w *modelWriter) catchUp() error {
	for w.next < len(w.items) && w.items[w.next].waiting != nil {
		b := w.items[w.next].waiting
		it := w.advance(b.size)
		if it.external {
			if err := w.record(it); err != nil {
				return err
			}
			continue
		}
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
func (w *modelWriter) write(p []byte, off int64) error {
	if w.heap != nil {
		_, err := w.heap.WriteAt(p, off)
		return err
	}
	return w.block.write(p, off)
}

// Finish completes the file.
func (w *modelWriter) Finish() error {
	if err := w.write(w.tail, w.pos); err != nil {
		return err
	}
	size := w.pos + int64(len(w.tail))
	if w.heap != nil {
		stored, err := encrypt(w.o.Key, tensorBlock, w.heap.Bytes())
		if err != nil {
			return err
		}
		w.heap, size = nil, int64(len(stored))
		w.settle(size)
		if err := w.writeFront(); err != nil {
			return err
		}
		w.block = newBlockWriter(w.t, w.hdr.blocks[tensorBlock].off)
		if err := w.block.write(stored, 0); err != nil {
			return err
		}
	} else if !w.fixed {
		w.settle(size)
		if err := w.writeFront(); err != nil {
			return err
		}
	}
	if err := w.writeSignature(size); err != nil {
		return err
	}
	if w.ext != nil {
		return w.ext.commit(!w.o.NoSync)
	}
	return nil
}

// writeSignature writes the signature block.
func (w *modelWriter) writeSignature(size int64) error {
	sum, err := w.block.sum(w.o.Context, size)
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

// Close frees what the writer holds beside the target.
func (w *modelWriter) Close() error {
	for i := range w.items {
		if b := w.items[i].waiting; b != nil {
			b.remove()
		}
	}
	if w.ext != nil {
		w.ext.abort()
	}
	w.items = nil
	return nil
}
