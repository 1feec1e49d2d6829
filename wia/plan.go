package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// item is a tensor to be written.
type item struct {
	head     []byte // the fields of its message: name, dims and dtype
	more     []byte // and metadata and unknown ones
	codec    Compression
	external bool
	at       int64 // of the data in the external file
	sum      [sha256.Size]byte
	size     int64  // of the tensor
	prefix   []byte // what precedes the data in the block, padding included
	off      int64  // of the prefix in the payload
}

// refuse is the error of a plan that cannot be written.
func refuse(field string, err error) error {
	return wire.Error(formatName, field, -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
}

// plan decides what can be decided before data comes.
func (w *encoder) plan(p *driver.Plan) (err error) {
	o := w.o
	w.hdr = header{compression: o.Compression, encrypted: o.Key != nil}
	if o.Compression > Zstd {
		return refuse("compression", fmt.Errorf("%w: %v", format.ErrUnsupported, o.Compression))
	}
	if _, err = codec.CheckLevel(o.Level); err != nil {
		return refuse("level", err)
	}
	if w.hdr.encrypted {
		if w.cipher, err = seal.New(o.Key); err != nil {
			return refuse("key", err)
		}
	}
	if w.from, err = originalOf(p); err != nil {
		return refuse("native", err)
	}
	w.sign = signing{signer: o.Signer, timestamp: driver.SignatureTime(w.common), unknown: w.from.signature}
	if err = w.sign.init(); err != nil {
		return refuse("signer", err)
	}
	if err = w.planTensors(p); err != nil {
		return err
	}
	text := w.from.metadata
	if text == nil {
		if text, err = jsonmeta.Marshal(p.Metadata, jsonmeta.Options{}); err != nil {
			return refuse("metadata", err)
		}
	}
	graph, err := w.graphBlock(p)
	if err == nil && len(graph) > 0 {
		_, err = graphOf(graph, p.Tensors) // which refuses what the reader would
	}
	if err != nil {
		return refuse("graph", err)
	}
	if w.meta, err = w.store(metadataBlock, text); err == nil {
		w.graph, err = w.store(graphBlock, graph)
	}
	b := &w.hdr.blocks
	b[metadataBlock] = span{headerSize, int64(len(w.meta))}
	b[graphBlock] = span{b[metadataBlock].end(), int64(len(w.graph))}
	b[tensorBlock].off, _ = wire.AlignUp(b[graphBlock].end(), alignment)
	return err
}

// planTensors makes the items, and places them if no size depends on the data.
func (w *encoder) planTensors(p *driver.Plan) (err error) {
	w.fixed = true
	w.items = make([]item, len(p.Tensors))
	for i := range p.Tensors {
		info, it := &p.Tensors[i], &w.items[i]
		it.size, it.head = info.Size, putHead(make([]byte, 0, len(info.Name)+8*len(info.Shape)+8), info)
		quant, _ := quantFields(info) // what is unsound is the file's that is copied, as losses are listed before
		it.more = w.from.fields(info, quant)
		if it.external = w.o.ExternalFrom > 0 && info.Size >= w.o.ExternalFrom; it.external {
			if w.ext == nil {
				if w.ext, err = external.NewFile(external.Format{Driver: fileFormat{}, Locations: w.locations}, w.o.External, w.common.Path); err != nil {
					return refuse("external data", err)
				}
			}
			it.at = w.ext.Reserve(info.Size, alignment)
		} else if w.o.CompressTensor != nil {
			if it.codec = w.o.CompressTensor(*info); it.codec > Zstd {
				return refuse(fmt.Sprintf("tensor %q", info.Name), fmt.Errorf("%w: %v", format.ErrUnsupported, it.codec))
			}
		}
		w.fixed = w.fixed && it.codec == None
	}
	for i := range w.items {
		if w.fixed {
			w.place(&w.items[i])
		}
	}
	return nil
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

// putHead appends the fields of a Tensor message that say what a tensor is.
func putHead(b []byte, info *tensor.Info) []byte {
	b = protobuf.PutInts(protobuf.PutText(b, 1, info.Name), 2, info.Shape)
	return protobuf.PutInt(b, 3, int64(codeOf(info.DType)))
}

// putTensor appends the fields of a tensor in an attribute.
func putTensor(b []byte, info *tensor.Info, data []byte) []byte {
	quant, _ := quantFields(info) // which was checked
	return protobuf.PutBytes(append(putHead(b, info), metadataField(quant)...), rawArm, data)
}

// metadataField returns the field of a TensorMetadata with nothing but a quantization.
func metadataField(quant []byte) []byte {
	if quant == nil {
		return nil
	}
	return protobuf.PutBytes(nil, 6, protobuf.PutBytes(nil, 3, quant))
}

// quantFields returns the QuantizationParams of a plan, nil for none. What is unsound for
// the tensor is refused.
func quantFields(info *tensor.Info) ([]byte, error) {
	q := info.Quant
	if q == nil {
		return nil, nil
	}
	if err := q.Check(info.DType, info.Shape); err != nil {
		return nil, err
	}
	kind, code, zeros := int64(quantLinear), int64(codeOf(info.DType)), q.ZeroPoints
	if q.Scheme == tensor.Logarithmic {
		kind = quantLogarithmic
	}
	b := protobuf.PutInt(nil, 1, kind)
	if q.Axis == tensor.PerTensor {
		if math.Float32bits(q.Scales[0]) != 0 {
			b = protobuf.PutFloat(b, 2, q.Scales[0])
		}
		if len(zeros) > 0 {
			b = protobuf.PutInt(b, 3, int64(zeros[0]))
		}
		return protobuf.PutInt(b, 4, code), nil
	}
	if len(zeros) == 1 {
		zeros = slices.Repeat(zeros, len(q.Scales))
	}
	c := protobuf.PutInts(protobuf.PutFloats(nil, 1, q.Scales), 2, zeros)
	return protobuf.PutBytes(protobuf.PutInt(b, 4, code), 5, protobuf.PutInt(c, 3, int64(q.Axis))), nil
}

// graphBlock returns the message of the graph to write, nil for none.
func (w *encoder) graphBlock(p *driver.Plan) ([]byte, error) {
	switch {
	case w.o.Graph != nil:
		return w.o.Graph, nil
	case w.from.graph != nil:
		return w.from.graph, nil
	case p.Graph == nil:
		return nil, nil
	}
	b, err := graphSchema.AppendGraph(nil, p.Graph)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*tensor.Info, len(p.Tensors))
	all := make([]string, len(p.Tensors))
	for i := range p.Tensors {
		all[i] = p.Tensors[i].Name
		byName[all[i]] = &p.Tensors[i]
	}
	// Formats without a list of initializers leave it nil, and ONNX-minded readers expect
	// every weight to be declared.
	names := p.Graph.Initializers
	if names == nil {
		names = all
	}
	for _, name := range names {
		info := byName[name]
		if info == nil {
			return nil, fmt.Errorf("%w: initializer %q is no tensor of the plan", tensor.ErrCorrupt, name)
		}
		b = protobuf.PutBytes(b, graphSchema.Initializers, putHead(nil, info))
	}
	return b, nil
}

// store compresses and encrypts a whole block.
func (w *encoder) store(b block, payload []byte) (_ []byte, err error) {
	if z := codecs[w.o.Compression]; z != nil {
		if payload, err = z.Compress(payload, w.o.Level); err != nil {
			return nil, refuse("compression", err)
		}
	}
	if w.cipher == nil {
		return payload, nil
	}
	return w.cipher.Seal(payload, []byte(b.String()))
}

// externalRecord returns the record of a tensor whose data is in another file. It has its
// length from the start, since locations and sums have theirs.
func (it *item) externalRecord(location string) []byte {
	b := protobuf.PutInt(protobuf.PutInt(protobuf.PutText(nil, 1, location), 2, it.at), 3, it.size)
	b = protobuf.PutText(b, 4, checksumPrefix+hex.EncodeToString(it.sum[:]))
	return protobuf.PutBytes(nil, 1, append(protobuf.PutBytes(bytes.Clone(it.head), 5, b), it.more...))
}

// plainPrefix returns all of a Tensor record but its data, for a record at off of
// the payload: a padding field, so that the data begins at a multiple of 64, and
// the message up to its data.
func (it *item) plainPrefix(off int64) []byte {
	var tags, padding [2 * alignment]byte
	data := protobuf.PutLength(tags[:0], rawArm, it.size)
	n := int64(len(it.head) + len(it.more) + len(data))
	message := protobuf.PutLength(data, 1, n+it.size)[len(data):]
	n += int64(len(message))
	gap := -(off + n) & (alignment - 1)
	if it.size == 0 {
		gap = 0
	}
	if gap == 1 {
		gap += alignment // a field takes two bytes at least
	}
	b := make([]byte, 0, n+gap)
	if gap > 0 {
		b = protobuf.PutBytes(b, 15, padding[:gap-2])
	}
	return append(append(append(append(b, message...), it.head...), it.more...), data...)
}

// compressedPrefix returns all of a CompressedTensor record but its data.
func (it *item) compressedPrefix(stored int64) []byte {
	head := protobuf.PutBytes(nil, 1, append(bytes.Clone(it.head), it.more...))
	head = protobuf.PutInt(protobuf.PutInt(head, 2, int64(it.codec)), 4, it.size)
	head = protobuf.PutLength(head, 3, stored)
	return append(protobuf.PutLength(nil, 2, int64(len(head))+stored), head...)
}
