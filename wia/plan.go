package wia

import (
	"fmt"

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
	message  Tensor // without data
	unknown  []byte // unknown fields of the CompressedTensor
	codec    Compression
	external bool
	size     int64  // of the tensor
	prefix   []byte // what precedes the data in the block, padding included
	off      int64  // of the prefix in the payload
	located  bool   // off is known
	waiting  *blob  // data that came before its turn
}

// refuse is the error of a plan that cannot be written.
func (w *encoder) refuse(field string, err error) error {
	return wire.Error(formatName, field, -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
}

// planTensors makes the items.
func (w *encoder) planTensors(p *driver.Plan) error {
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
			ext, err := external.NewFile(w.externalFormat(), w.o.External, w.w.Path)
			if err != nil {
				return w.refuse("external data", err)
			}
			w.ext = ext
		}
		if it.external {
			it.message.External = reserve(w.ext, info.Size)
		}
	}
	return w.checkDescribed(p)
}

// checkDescribed refuses descriptions of tensors that are not written.
func (w *encoder) checkDescribed(p *driver.Plan) error {
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
func (w *encoder) describe(info *tensor.Info, it *item) error {
	if w.from.whole() {
		return w.from.describe(info.Name, it)
	}
	it.message = Tensor{Name: info.Name, Dims: info.Shape, DType: codeOf(info.DType)}
	quant, err := quantMessage(info)
	if err != nil && !w.from.quantizes(info) {
		return err
	}
	if d := w.o.Describe[info.Name]; d != nil {
		meta := *d
		if meta.Quantization == nil {
			meta.Quantization = quant
		}
		it.message.Metadata = &meta
		// What the reader would refuse is not written: text that is not UTF-8.
		b := tensorMsg.Append(nil, &it.message)
		return protobuf.InMemory(b).Check(tensorMsg, 0, int64(len(b)), 2)
	} else if quant != nil {
		it.message.Metadata = &TensorMetadata{Quantization: quant}
	}
	if w.from != nil {
		w.from.follow(info, it)
	}
	return nil
}

// planStructure makes the metadata and graph blocks as they will be stored.
func (w *encoder) planStructure(p *driver.Plan) error {
	meta := p.Metadata
	if w.from.whole() {
		meta = w.o.Metadata
	}
	text, err := jsonmeta.Marshal(meta, jsonmeta.Options{})
	if w.from.whole() && meta == nil {
		text, err = w.from.metadata, nil
	}
	if err != nil {
		return w.refuse("metadata", err)
	}
	var graph []byte
	g, err := w.graphMessage(p)
	if err == nil && g != nil {
		graph = graphMsg.Append(nil, g)
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
func (w *encoder) graphMessage(p *driver.Plan) (*Graph, error) {
	switch {
	case w.from.whole():
		return w.from.graph, nil
	case w.o.Graph != nil:
		return w.o.Graph, nil
	case w.from != nil && w.from.graph != nil:
		return w.from.graph, nil
	case p.Graph != nil:
		return graphOf(p.Graph, p.Tensors)
	}
	return nil, nil
}

// store compresses and encrypts a whole block.
func (w *encoder) store(b block, payload []byte) ([]byte, error) {
	if w.o.Compression != None {
		z, err := codecOf(w.o.Compression)
		if err == nil {
			payload, err = z.Compress(payload, w.o.Level)
		}
		if err != nil {
			return nil, w.refuse("compression", err)
		}
	}
	if w.cipher == nil {
		return payload, nil
	}
	return w.cipher.Seal(payload, []byte(b.String()))
}
