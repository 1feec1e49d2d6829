package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// item is a tensor to write.
type item struct {
	head     []byte // the fields name, dims and dtype of its message
	more     []byte // the metadata and unknown fields
	around   []byte // the unknown fields of the CompressedTensor, if there is one
	codec    Compression
	external bool
	at       int64 // of the data in the external file
	sum      [sha256.Size]byte
	size     int64  // of the tensor
	prefix   []byte // the record up to its data, including padding
	off      int64  // of the prefix in the payload
}

// plan checks the options and the plan, and builds all that needs no tensor data.
func (w *encoder) plan(p *plan.Plan) (err error) {
	o := w.o
	w.hdr = header{compression: o.Compression, encrypted: o.Key != nil}
	if o.Compression > Zstd {
		return wire.Refuse(formatName, "compression", "%w: %v", format.ErrUnsupported, o.Compression)
	}
	if _, err = codec.CheckLevel(o.Level); err != nil {
		return wire.Refuse(formatName, "level", "%w", err)
	}
	if w.hdr.encrypted {
		if w.cipher, err = seal.New(o.Key); err != nil {
			return wire.Refuse(formatName, "key", "%w", err)
		}
	}
	if w.from, err = originalOf(p, &plan.LossList{}); err != nil {
		return wire.Refuse(formatName, "native", "%w", err)
	}
	w.sign = signing{by: o.Signer}
	w.sign.unknown, w.sign.signer.Timestamp = w.from.signature, plan.SignatureTime(w.common)
	if err = w.sign.init(); err != nil {
		return wire.Refuse(formatName, "signer", "%w", err)
	}
	if err = w.planTensors(p); err != nil {
		return err
	}
	text := w.from.metadata
	if text == nil {
		// Losses checked it.
		text, _ = jsonmeta.Marshal(p.Metadata, jsonmeta.Options{})
	}
	graph, err := w.graphBlock(p)
	if err == nil && len(graph) > 0 {
		_, err = graphOf(graph, p.Tensors) // refuses what the reader would refuse
	}
	if err != nil {
		return wire.Refuse(formatName, "graph", "%w", err)
	}
	if w.meta, err = w.store(metadataBlock, text); err == nil {
		w.graph, err = w.store(graphBlock, graph)
	}
	b := &w.hdr.blocks
	b[metadataBlock] = span{headerSize, int64(len(w.meta))}
	b[graphBlock] = span{b[metadataBlock].end(), int64(len(w.graph))}
	b[tensorBlock].off = wire.AlignUp(b[graphBlock].end(), alignment)
	return err
}

// planTensors makes the items. It places them unless some are compressed.
func (w *encoder) planTensors(p *plan.Plan) (err error) {
	w.fixed = true
	w.items = make([]item, len(p.Tensors))
	for i := range p.Tensors {
		info, it := &p.Tensors[i], &w.items[i]
		it.size, it.head = info.Size, putHead(make([]byte, 0, len(info.Name)+8*len(info.Shape)+8), info)
		quant, _ := quantFields(info) // Losses checked it; only a copy keeps invalid parameters
		it.more, it.around = w.from.fields(info, quant), w.from.around[info.Name]
		it.external = w.o.ExternalFrom > 0 && info.Size >= w.o.ExternalFrom
		if !it.external && len(it.more) > 0 {
			_, it.more = onnxgraph.Split(tensorMsg, it.more, externalArm)
		}
		if it.external {
			if w.ext == nil {
				if w.ext, err = external.NewFile(external.Format{Driver: fileFormat{}, Locations: w.locations}, w.o.External, w.common.Path); err != nil {
					return wire.Refuse(formatName, "external data", "%w", err)
				}
			}
			it.at = w.ext.Reserve(info.Size, alignment)
		} else if w.o.CompressTensor != nil {
			if it.codec = w.o.CompressTensor(*info); it.codec > Zstd {
				return wire.Refuse(formatName, fmt.Sprintf("tensor %q", info.Name), "%w: %v", format.ErrUnsupported, it.codec)
			}
		}
		w.fixed = w.fixed && it.codec == None
	}
	for i := 0; w.fixed && i < len(w.items); i++ {
		w.place(&w.items[i])
	}
	return nil
}

// locations lists the external files that the model at path names. If the model
// is encrypted, it opens only with the key of the model being written.
func (w *encoder) locations(path string) ([]string, error) {
	f, err := Open(path, &format.Options{Key: w.o.Key})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.f.files.Locations(), nil
}

// putHead appends the name, dims and dtype fields of a Tensor message.
func putHead(b []byte, info *tensor.Info) []byte {
	b = protobuf.PutInts(protobuf.PutText(b, 1, info.Name), 2, info.Shape)
	return protobuf.PutInt(b, 3, int64(codeOf(info.DType)))
}

// putTensor appends the fields of a tensor in an attribute.
func putTensor(b []byte, info *tensor.Info, data []byte) []byte {
	quant, _ := quantFields(info) // checked before
	return protobuf.PutBytes(append(putHead(b, info), metadataField(quant)...), rawArm, data)
}

// metadataField returns a metadata field with only a quantization, nil for none.
func metadataField(quant []byte) []byte {
	if quant == nil {
		return nil
	}
	return protobuf.PutBytes(nil, 6, protobuf.PutBytes(nil, 3, quant))
}

// quantFields returns the QuantizationParams message of a tensor of a plan, nil
// for none. It fails if the parameters do not fit the tensor.
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
func (w *encoder) graphBlock(p *plan.Plan) (_ []byte, err error) {
	if w.o.Graph != nil || p.Graph == nil {
		return w.o.Graph, nil
	}
	b, rest := onnxgraph.Split(graphMsg, w.from.graph, 1, 2, 3, 4)
	if w.from.graph == nil {
		if b, err = graphSchema.AppendGraph(nil, p.Graph); err != nil {
			return nil, err
		}
	}
	byName := make(map[string]*tensor.Info, len(p.Tensors))
	all := make([]string, len(p.Tensors))
	for i := range p.Tensors {
		all[i] = p.Tensors[i].Name
		byName[all[i]] = &p.Tensors[i]
	}
	// Formats without a list of initializers leave it nil; readers made for ONNX
	// expect every weight to be declared.
	names := p.Graph.Initializers
	if names == nil {
		names = all
	}
	for _, name := range names {
		info := byName[name]
		if info == nil {
			return nil, fmt.Errorf("%w: initializer %q is not a tensor of the plan", tensor.ErrCorrupt, name)
		}
		b = protobuf.PutBytes(b, graphSchema.Initializers, append(putHead(nil, info), w.from.declared[name]...))
	}
	return append(b, rest...), nil
}

// store compresses and encrypts a whole block.
func (w *encoder) store(b block, payload []byte) (_ []byte, err error) {
	if z := codecs[w.o.Compression]; z != nil {
		if payload, err = z.Compress(payload, w.o.Level); err != nil {
			return nil, wire.Refuse(formatName, "compression", "%w", err)
		}
	}
	if w.cipher == nil {
		return payload, nil
	}
	return w.cipher.Seal(payload, []byte(b.String()))
}

// externalRecord returns the record of a tensor with external data. Its length is
// known before the data is, since the lengths of location and checksum are fixed.
func (it *item) externalRecord(location string) []byte {
	b := protobuf.PutInt(protobuf.PutInt(protobuf.PutText(nil, 1, location), 2, it.at), 3, it.size)
	b = protobuf.PutText(b, 4, checksumPrefix+hex.EncodeToString(it.sum[:]))
	return protobuf.PutBytes(nil, 1, append(protobuf.PutBytes(bytes.Clone(it.head), 5, b), it.more...))
}

// plainPrefix returns what precedes the data of a Tensor record at offset off of
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
		gap += alignment // a field takes at least two bytes
	}
	b := make([]byte, 0, n+gap)
	if gap > 0 {
		b = protobuf.PutBytes(b, 15, padding[:gap-2])
	}
	return append(append(append(append(b, message...), it.head...), it.more...), data...)
}

// compressedPrefix returns what precedes the data of a CompressedTensor record.
func (it *item) compressedPrefix(stored int64) []byte {
	head := protobuf.PutBytes(nil, 1, append(bytes.Clone(it.head), it.more...))
	head = append(protobuf.PutInt(protobuf.PutInt(head, 2, int64(it.codec)), 4, it.size), it.around...)
	head = protobuf.PutLength(head, 3, stored)
	return append(protobuf.PutLength(nil, 2, int64(len(head))+stored), head...)
}
