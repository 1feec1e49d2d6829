package wia

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// item is a tensor to write.
type item struct {
	fields   []byte // of its Tensor message, but the data
	around   []byte // the unknown fields of its ExternalData or CompressedTensor
	codec    Compression
	external bool
	at       int64 // of the data in the external file
	sum      [sha256.Size]byte
	size     int64  // of the tensor
	prefix   []byte // the record up to its data, including padding
	off      int64  // of the prefix in the payload
}

// prepare checks the options and the schema, and builds all that needs no tensor data.
func (w *encoder) prepare(p *schema.Schema) error {
	w.from = originalOf(p, &schema.LossList{}) // Losses listed what is lost
	w.docs = onnxgraph.DocsOf(p.Docs)
	err := w.prepareHeader()
	if err != nil {
		return err
	}
	err = w.placeTensors(p)
	if err != nil {
		return err
	}
	text := w.from.metadata
	if text == nil {
		text, _ = jsonmeta.Marshal(p.Metadata, jsonmeta.Options{}) // Losses checked it
	}
	err = w.store(metadataBlock, text)
	if err != nil {
		return err
	}
	graph, err := w.graphBlock(p)
	if err != nil {
		return refusal("graph", err)
	}
	err = w.store(graphBlock, graph)
	if err != nil {
		return err
	}
	w.hdr.blocks[tensorBlock].off = wire.AlignUp(w.hdr.blocks[graphBlock].end(), alignment)
	return nil
}

// prepareHeader prepares encryption, the signature, and the header as far as it is known.
func (w *encoder) prepareHeader() (err error) {
	w.hdr.compression = w.o.compression
	w.hdr.blocks[headerBlock].size = headerSize
	key := w.o.common.Key
	if key != nil {
		w.hdr.encryption = 1
		w.cipher, err = seal.New(key)
		if err != nil {
			return refusal("key", err)
		}
	}
	w.sign.unknown = w.from.signature
	w.sign.signer.Timestamp = w.o.common.Signed()
	size, err := w.sign.prepare(w.o.common.Signer)
	if err != nil {
		return refusal("signer", err)
	}
	w.hdr.blocks[signatureBlock].size = size
	return nil
}

// refusal returns the error for a field of the schema or of the options.
func refusal(field string, err error) error { return wire.Refuse(formatName, field, "%w", err) }

// placeTensors makes the items. It places them unless some are compressed.
func (w *encoder) placeTensors(p *schema.Schema) error {
	var noExternal error
	w.ext, noExternal = external.New(formatName, w.o.common.External, w.o.common.Path, w.files)
	w.items = make([]item, len(p.Tensors))
	w.fixed = true
	for i := range p.Tensors {
		it := &w.items[i]
		err := w.prepareItem(it, &p.Tensors[i], noExternal)
		if err != nil {
			return err
		}
		if it.codec != None {
			w.fixed = false
		}
	}
	if !w.fixed {
		return nil
	}
	for i := range w.items {
		w.place(&w.items[i])
	}
	return nil
}

// prepareItem makes the item of a tensor. noExternal is why there can be no external data.
func (w *encoder) prepareItem(it *item, info *tensor.Info, noExternal error) error {
	r := w.from.tensors[info.Name]
	if r == nil {
		r = &rest{}
	}
	path := onnxgraph.TensorPath(info.Name)
	r.tensor = []byte(dialect.SetTensorDoc(string(r.tensor), path, w.docs))
	it.size = info.Size
	it.fields = make([]byte, 0, len(info.Name)+8*len(info.Shape)+8)
	it.fields = appendHead(it.fields, info)
	it.fields = append(it.fields, r.fields(info)...)
	from := w.o.common.ExternalFrom
	if from > 0 && info.Size >= from {
		if noExternal != nil {
			return refusal("external data", noExternal)
		}
		it.external = true
		it.at = external.Reserve(w.ext, info.Size, alignment)
		it.around = r.external
		return nil
	}
	it.around = r.compressed
	it.codec = w.o.ofTensor(*info)
	err := it.codec.check()
	if err != nil {
		return refusal(fmt.Sprintf("tensor %q", info.Name), err)
	}
	return nil
}

// files lists the files of the model at path. If it
// is encrypted, it opens only with the key of the model being written.
func (w *encoder) files(path string) ([]string, error) {
	return external.FilesOf(format.Open(path, &format.Options{Format: Format{}, Key: w.o.common.Key}))
}

// appendHead appends the name, dims and dtype fields of a Tensor message.
func appendHead(b []byte, info *tensor.Info) []byte {
	b = messages.AppendText(b, tensorName, info.Name)
	b = messages.AppendPackedInts(b, tensorDims, info.Shape)
	return messages.AppendInt(b, tensorDType, int64(codeOf(info.DType)))
}

// appendTensor appends the fields of a tensor in an attribute.
func appendTensor(b []byte, info *tensor.Info, data []byte) []byte {
	b = append(appendHead(b, info), (*rest)(nil).fields(info)...)
	return messages.AppendBytes(b, rawData, data)
}

// quantField returns the field with the QuantizationParams of a tensor of a schema, nil
// for none. It fails if the parameters do not fit the tensor.
func quantField(info *tensor.Info) ([]byte, error) {
	q := info.Quant
	if q == nil {
		return nil, nil
	}
	err := q.Check(info.DType, info.Shape)
	if err != nil {
		return nil, err
	}
	b, start := messages.Begin(nil, metadataQuantization)
	b = messages.AppendInt(b, quantType, int64(slices.Index(schemes[:], q.Scheme)))
	if q.Axis == tensor.PerTensor {
		b = appendPerTensor(b, q)
	}
	b = messages.AppendInt(b, quantizedType, int64(codeOf(info.DType)))
	if q.Axis != tensor.PerTensor {
		b = appendPerChannel(b, q)
	}
	return messages.End(b, start), nil
}

// appendPerTensor appends scale and zero point of a tensor.
func appendPerTensor(b []byte, q *tensor.Quantization) []byte {
	if math.Float32bits(q.Scales[0]) != 0 {
		b = messages.AppendFloat(b, quantScale, q.Scales[0])
	}
	if len(q.ZeroPoints) > 0 {
		b = messages.AppendInt(b, quantZeroPoint, int64(q.ZeroPoints[0]))
	}
	return b
}

// appendPerChannel appends the PerChannelQuantization of a tensor.
func appendPerChannel(b []byte, q *tensor.Quantization) []byte {
	zeros := q.ZeroPoints
	if len(zeros) == 1 {
		zeros = slices.Repeat(zeros, len(q.Scales))
	}
	b, start := messages.Begin(b, quantPerChannel)
	b = messages.AppendPackedFloats(b, channelScales, q.Scales)
	b = messages.AppendPackedInts(b, channelZeroPoints, zeros)
	b = messages.AppendInt(b, channelDim, int64(q.Axis))
	return messages.End(b, start)
}

// graphBlock returns the message of the graph to write, nil for none.
func (w *encoder) graphBlock(p *schema.Schema) ([]byte, error) {
	if p.Graph == nil {
		return nil, nil
	}
	b, err := w.appendGraph(p)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	_, err = graphOf(b, p.Tensors) // refuses what the parser would refuse
	if err != nil {
		return nil, err
	}
	return b, nil
}

// appendGraph returns the message of the graph.
func (w *encoder) appendGraph(p *schema.Schema) (_ []byte, err error) {
	graph := w.from.graph
	if graph == nil {
		graph, err = dialect.AppendGraph(nil, p.Graph, w.from.inner)
		if err != nil {
			return nil, err
		}
	}
	graph, _ = dialect.SetGraphDocs(graph, w.docs)
	from := messages.Outermost(string(graph))
	known := []int{graphName, graphNodes, graphInputs, graphOutputs}
	b := messages.AppendOnly(nil, from, known...)
	b, err = w.appendInitializers(b, p)
	if err != nil {
		return nil, err
	}
	return messages.AppendOthers(b, from, known...), nil
}

// appendInitializers appends the declarations of tensors. Formats without such a list leave it nil;
// readers made for ONNX expect every weight to be declared.
func (w *encoder) appendInitializers(b []byte, p *schema.Schema) ([]byte, error) {
	byName := make(map[string]*tensor.Info, len(p.Tensors))
	all := make([]string, len(p.Tensors))
	for i := range p.Tensors {
		all[i] = p.Tensors[i].Name
		byName[all[i]] = &p.Tensors[i]
	}
	names := p.Graph.Initializers
	if names == nil {
		names = all
	}
	for i, name := range names {
		info := byName[name]
		if info == nil {
			return nil, fmt.Errorf("%w: initializer %q is not a tensor of the schema",
				tensor.ErrCorrupt, name)
		}
		declared := ""
		r := w.from.tensors[name]
		if r != nil {
			declared = string(r.declared)
		}
		path := fmt.Sprintf("graph.initializers[%d]", i)
		var start int
		b, start = messages.Begin(b, graphInitializers)
		b = appendHead(b, info)
		b = append(b, dialect.SetTensorDoc(declared, path, w.docs)...)
		b = messages.End(b, start)
	}
	return b, nil
}

// store compresses and encrypts a whole block, which follows the one before it.
func (w *encoder) store(b block, payload []byte) (err error) {
	z := codecs[w.o.compression]
	if z != nil {
		payload, err = z.Compress(payload, w.o.common.Level)
		if err != nil {
			return refusal("compression", err)
		}
	}
	if w.cipher != nil {
		payload, err = w.cipher.Seal(payload, []byte(b.String()))
		if err != nil {
			return err
		}
	}
	w.stored[b] = payload
	w.hdr.blocks[b] = span{w.hdr.blocks[b-1].end(), int64(len(payload))}
	return nil
}

// record returns the record of a tensor at offset off of the payload, up to the n bytes that are
// stored. Plain data begins at a multiple of 64, after a padding field. The length of the record of
// external data is known before the data is, since those of location and checksum are fixed.
func (w *encoder) record(it *item, off, n int64) []byte {
	if it.external {
		return w.externalRecord(it)
	}
	if it.codec != None {
		b := messages.AppendBytes(nil, innerTensor, it.fields)
		b = messages.AppendInt(b, compressionCode, int64(it.codec))
		b = messages.AppendInt(b, uncompressedSize, it.size)
		b = append(b, it.around...)
		return recordHead(compressedRecords, b, compressedData, n)
	}
	var zeros [2 * alignment]byte
	b := recordHead(tensorRecords, it.fields, rawData, n)
	gap := -(off + int64(len(b))) & (alignment - 1)
	if gap == 1 {
		gap += alignment // a field takes at least two bytes
	}
	if gap == 0 || n == 0 {
		return b
	}
	front := make([]byte, 0, int(gap)+len(b))
	front = messages.AppendBytes(front, padding, zeros[:gap-2])
	return append(front, b...)
}

// externalRecord returns the record of a tensor whose data is in another file.
func (w *encoder) externalRecord(it *item) []byte {
	checksum := checksumPrefix + hex.EncodeToString(it.sum[:])
	b := messages.AppendText(nil, externalLocation, w.ext.Location)
	b = messages.AppendInt(b, externalOffset, it.at)
	b = messages.AppendInt(b, externalLength, it.size)
	b = messages.AppendText(b, externalChecksum, checksum)
	b = append(b, it.around...)
	head := recordHead(tensorRecords, it.fields, externalData, int64(len(b)))
	return append(head, b...)
}

// recordHead returns a field of TensorData with a message, up to the n bytes of its last
// field.
func recordHead(number int, fields []byte, last int, n int64) []byte {
	var space [16]byte
	end := messages.AppendLength(space[:0], last, n)
	size := int64(len(fields)+len(end)) + n
	b := make([]byte, 0, len(fields)+2*len(space))
	b = messages.AppendLength(b, number, size)
	b = append(b, fields...)
	return append(b, end...)
}
