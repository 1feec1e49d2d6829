package wia

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// item is a tensor to be written.
type item struct {
	head     []byte // the fields of its message: name, dims and dtype
	more     []byte // and metadata and unknown ones
	codec    Compression
	external bool
	at       int64  // of the data in the external file
	sum      digest // of external data
	size     int64  // of the tensor
	prefix   []byte // what precedes the data in the block, padding included
	off      int64  // of the prefix in the payload
}

// refuse is the error of a plan that cannot be written.
func refuse(field string, err error) error {
	return wire.Error(formatName, field, -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
}

// planTensors makes the items.
func (w *encoder) planTensors(p *driver.Plan) (err error) {
	w.fixed = true
	w.items = make([]item, len(p.Tensors))
	for i := range p.Tensors {
		info, it := &p.Tensors[i], &w.items[i]
		field := fmt.Sprintf("tensor %q", info.Name)
		it.size, it.head = info.Size, putHead(nil, info)
		if it.more, err = w.describe(info); err != nil {
			return refuse(field, err)
		}
		if it.external = w.o.ExternalFrom > 0 && info.Size >= w.o.ExternalFrom; it.external {
			if w.ext == nil {
				if w.ext, err = external.NewFile(external.Format{Driver: fileFormat{}, Locations: w.locations}, w.o.External, w.common.Path); err != nil {
					return refuse("external data", err)
				}
			}
			it.at = w.ext.Reserve(info.Size, alignment)
		} else if w.o.CompressTensor != nil {
			if it.codec = w.o.CompressTensor(*info); it.codec > Zstd {
				return refuse(field, fmt.Errorf("%w: %v", format.ErrUnsupported, it.codec))
			}
		}
		w.fixed = w.fixed && it.codec == None
	}
	if w.described == len(w.o.Describe) {
		return nil
	}
	for name := range w.o.Describe {
		if !slices.ContainsFunc(p.Tensors, func(t tensor.Info) bool { return t.Name == name }) {
			err = refuse(fmt.Sprintf("tensor %q", name), fmt.Errorf("%w: described, but not in the plan", tensor.ErrCorrupt))
		}
	}
	return err
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

// describe returns the fields of a tensor's message that follow its data.
func (w *encoder) describe(info *tensor.Info) ([]byte, error) {
	quant, err := quantFields(info)
	if err != nil && !w.from.quantizes(info) {
		return nil, err
	}
	d, ok := w.o.Describe[info.Name]
	switch {
	case ok:
		w.described++
		b := protobuf.PutText(nil, 1, d.DocString)
		for _, p := range d.Properties {
			b = protobuf.PutBytes(b, 2, protobuf.PutText(protobuf.PutText(nil, 1, p.Key), 2, p.Value))
		}
		if quant != nil {
			b = protobuf.PutBytes(b, 3, quant)
		}
		// What the reader would refuse is not written: text that is not UTF-8.
		b = protobuf.PutBytes(nil, 6, b)
		return b, protobuf.InMemory(b).Check(tensorMsg, protobuf.Field{End: int64(len(b))}, 2)
	case w.from != nil:
		return w.from.fields(info, quant), nil
	}
	return metadataField(quant), nil
}

// quantFields returns the QuantizationParams of a plan, nil for none. What is unsound for
// the shape is refused.
func quantFields(info *tensor.Info) ([]byte, error) {
	q := info.Quant
	if q == nil {
		return nil, nil
	}
	bad := func(text string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("%w: %s", tensor.ErrQuantization, fmt.Sprintf(text, args...))
	}
	kind, channels := int64(quantLinear), int64(1)
	switch q.Scheme {
	case tensor.Linear:
	case tensor.Logarithmic:
		kind = quantLogarithmic
	default:
		return bad("scheme %d", q.Scheme)
	}
	if q.Axis != tensor.PerTensor {
		if q.Axis < 0 || q.Axis >= len(info.Shape) {
			return bad("axis %d of %v", q.Axis, info.Shape)
		}
		channels = info.Shape[q.Axis]
	}
	zeros := q.ZeroPoints
	if int64(len(q.Scales)) != channels || len(zeros) > 1 && len(zeros) != len(q.Scales) {
		return bad("%d scales and %d zero points for %d channels", len(q.Scales), len(zeros), channels)
	}
	b := protobuf.PutInt(nil, 1, kind)
	code := int64(codeOf(info.DType))
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

// planStructure makes the metadata and graph blocks as they will be stored.
func (w *encoder) planStructure(p *driver.Plan, text []byte) (err error) {
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
	return err
}

// graphBlock returns the message of the graph to write, nil for none.
func (w *encoder) graphBlock(p *driver.Plan) ([]byte, error) {
	switch {
	case w.o.Graph != nil:
		return w.o.Graph, nil
	case w.from != nil && w.from.graph != nil:
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
func (w *encoder) store(b block, payload []byte) ([]byte, error) {
	if w.o.Compression != None {
		z, err := codecOf(w.o.Compression)
		if err == nil {
			payload, err = z.Compress(payload, w.o.Level)
		}
		if err != nil {
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
	b = protobuf.PutText(b, 4, checksumPrefix+hex.EncodeToString(it.sum.sum[:]))
	return protobuf.PutBytes(nil, 1, append(protobuf.PutBytes(bytes.Clone(it.head), 5, b), it.more...))
}

// plainPrefix returns all of a Tensor record but its data, for a record at off of
// the payload: a padding field, so that the data begins at a multiple of 64, and
// the message up to its data.
func (it *item) plainPrefix(off int64) []byte {
	head := protobuf.PutLength(append(bytes.Clone(it.head), it.more...), rawArm, it.size)
	b := append(protobuf.PutLength(nil, 1, int64(len(head))+it.size), head...)
	gap := -(off + int64(len(b))) & (alignment - 1)
	if it.size == 0 || gap == 0 {
		return b
	}
	if gap == 1 {
		gap += alignment // a field takes two bytes at least
	}
	return append(protobuf.PutBytes(nil, 15, make([]byte, gap-2)), b...)
}

// compressedPrefix returns all of a CompressedTensor record but its data.
func (it *item) compressedPrefix(stored int64) []byte {
	head := protobuf.PutBytes(nil, 1, append(bytes.Clone(it.head), it.more...))
	head = protobuf.PutInt(protobuf.PutInt(head, 2, int64(it.codec)), 4, it.size)
	head = protobuf.PutLength(head, 3, stored)
	return append(protobuf.PutLength(nil, 2, int64(len(head))+stored), head...)
}
