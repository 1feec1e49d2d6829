package wia

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// native returns what a schema cannot hold.
func (f *parsed) native() (*schema.Native, error) {
	meta := &f.payloads[metadataBlock]
	n := f.graph().size + meta.size + int64(len(f.more.Text()))
	err := f.memory.Reserve(n)
	if err != nil {
		return nil, wire.Error(formatName, "graph", -1, err)
	}
	defer f.memory.Release(n)
	raw, err := f.nativeGraph()
	if err != nil {
		return nil, err
	}
	more := messages.Outermost(f.more.Text())
	if len(f.records) > 0 && f.records[0].block == graphBlock {
		raw = f.appendCarried(raw)
	}
	for c := more.Cursor(); c.Next(); {
		raw = appendRecord(raw, &c)
	}
	if len(f.records) > 0 && f.records[0].block != graphBlock {
		raw = f.appendCarried(raw)
	}
	tail := messages.AppendOthers(nil, more, tensorRecords, compressedRecords)
	if len(tail) > 0 {
		raw = messages.AppendBytes(raw, nativeTail, tail)
	}
	signatures := messages.Outermost(f.payloads[signatureBlock].text())
	unknown := messages.AppendOthers(nil, signatures, blockChecksums, blockSignature, padding)
	raw = messages.AppendBytes(raw, nativeSignature, unknown)
	raw = messages.AppendBytes(raw, nativeMetadata, meta.data)
	kinds := dialect.Kinds(typeNative, messages.Outermost(string(raw)), 0)
	return &schema.Native{Format: formatName, Kinds: kinds, Raw: raw}, nil
}

// appendCarried appends the initializers that have data and what a schema does not hold, as
// records.
func (f *parsed) appendCarried(b []byte) []byte {
	if !f.initializerData {
		return b
	}
	h := &head{}
	for c := messages.Outermost(f.graph().text()).Cursor(); c.Next(); {
		if c.Number != graphInitializers {
			continue
		}
		h.reset()
		err := h.read(c.Message())
		if err != nil || h.data == 0 || !h.keeps() {
			continue
		}
		b = appendPlain(b, c.Message())
	}
	return b
}

// keeps reports whether Native has something of the tensor.
func (h *head) keeps() bool { return h.more || h.data == externalData }

// appendPlain appends a Tensor message without its data, as a CompressedTensor.
func appendPlain(b []byte, m messages.Message) []byte {
	b, record := messages.Begin(b, nativeTensors)
	b, tensor := messages.Begin(b, innerTensor)
	b = messages.AppendOthers(b, m, rawData)
	return messages.End(messages.End(b, tensor), record)
}

// appendRecord appends a record of the tensor block without its data, as a CompressedTensor.
func appendRecord(b []byte, c *messages.Cursor) []byte {
	switch c.Number {
	case tensorRecords:
		return appendPlain(b, c.Message())
	case compressedRecords:
		b, record := messages.Begin(b, nativeTensors)
		b, tensor := messages.Begin(b, innerTensor)
		for f := c.Message().Cursor(); f.Next(); { // a message that repeats is merged
			if f.Number == innerTensor {
				b = messages.AppendOthers(b, f.Message(), rawData)
			}
		}
		b = messages.End(b, tensor)
		b = messages.AppendOthers(b, c.Message(),
			innerTensor, compressionCode, compressedData, uncompressedSize)
		return messages.End(b, record)
	}
	return b
}

// nativeGraph returns the graph as a field of typeNative, nil if there is none. External data of
// tensors inside the graph becomes part of it.
func (f *parsed) nativeGraph() ([]byte, error) {
	g := f.graph()
	if g.size == 0 {
		return nil, nil
	}
	in := inliner{f: f, data: onnxgraph.Inliner{Memory: f.memory}}
	defer in.data.Close()
	e := dialect.Edit()
	if slices.ContainsFunc(f.externals, func(x externalRange) bool { return x.tensor < 0 }) {
		e.Replace = in.replace
	}
	raw, start := messages.Begin(make([]byte, 0, g.size), nativeGraph)
	for c := messages.Outermost(g.text()).Cursor(); c.Next(); {
		if c.Number == graphInitializers {
			var one int
			raw, one = messages.Begin(raw, graphInitializers)
			raw = messages.End(messages.AppendOthers(raw, c.Message(), rawData, externalData), one)
			continue
		}
		raw = e.AppendField(raw, typeGraph, &c)
	}
	if e.Err != nil {
		return nil, g.locate(e.Err)
	}
	return messages.End(raw, start), nil
}

// inliner puts external data of tensors into their messages.
type inliner struct {
	f    *parsed
	data onnxgraph.Inliner
}

// replace appends the fields of a tensor with its external data.
func (in *inliner) replace(b []byte, m messages.Message) ([]byte, bool, error) {
	h := &head{}
	if h.read(m) != nil || h.data != externalData || h.check() != nil {
		return b, false, nil
	}
	v, err := in.f.view(h, nil)
	if err != nil {
		return b, false, err
	}
	b, err = in.data.Append(b, m, v, rawData, rawData, externalData)
	if err != nil {
		return b, false, err
	}
	return b, true, nil
}

// original is the decoded Native of a schema, updated to match the schema.
type original struct {
	graph     []byte // without its initializers; nil if the schema has another
	inner     onnxgraph.Subgraphs
	tensors   map[string]*rest // by the name in the schema
	tail      []byte           // unknown fields of the tensor block
	signature []byte           // unknown fields of the signature block
	metadata  []byte           // nil if the schema has other metadata
}

// rest has the fields of the messages of a tensor that a schema does not hold.
type rest struct {
	tensor     []byte // metadata and unknown fields
	declared   []byte // of its initializer
	external   []byte // unknown fields of ExternalData
	compressed []byte // unknown fields of CompressedTensor
}

// originalOf decodes the schema's Native, if it has one of this format, and adds what contradicts
// the schema to l.
func originalOf(p *schema.Schema, l *schema.LossList) *original {
	n := p.Native
	o := &original{tensors: map[string]*rest{}}
	if n == nil || n.Format != formatName {
		return o
	}
	raw := string(n.Raw)
	m, err := table.Check(typeNative, raw, nativeCounts())
	if err != nil {
		l.Native("", placed(typeNative, raw, err))
		return o
	}
	e := dialect.Edit()
	e.Names = map[string]string{}
	for name, old := range n.Renamed {
		e.Names[old] = name
	}
	for c := m.Cursor(); c.Next(); {
		switch c.Number {
		case nativeGraph:
			o.readGraph(e, c.Message(), p, l)
		case nativeTensors:
			o.readRecord(e.Names, c.Message())
		case nativeTail:
			o.tail = []byte(c.Text())
		case nativeSignature:
			o.signature = []byte(c.Text())
		case nativeMetadata:
			o.metadata = []byte(c.Text())
		}
	}
	if !isText(o.metadata, p.Metadata) {
		o.metadata = nil
	}
	return o
}

// nativeCounts returns Counts for typeNative, which has one more level than its parts.
func nativeCounts() *messages.Counts {
	c := messages.NewCounts()
	c.Around = -1
	return c
}

// placed adds the field to an error about a message that is not in a file.
func placed(t messages.Type, text string, err error) error {
	e, ok := err.(*messages.Error)
	if !ok {
		return err
	}
	name := messages.Join("native", table.Path(t, text, e))
	return &messages.Placed{Field: name, At: e.At + e.Skip, Err: e.Err}
}

// rest returns the fields of a tensor, given its Tensor message.
func (o *original) rest(names map[string]string, m messages.Message) *rest {
	name := ""
	for c := m.Cursor(); c.Next(); {
		if c.Number == tensorName {
			name = c.Text()
		}
	}
	name = cmp.Or(names[name], name)
	if o.tensors[name] == nil {
		o.tensors[name] = &rest{}
	}
	return o.tensors[name]
}

// ownFields returns the fields of a Tensor message that a schema does not hold.
func ownFields(m messages.Message) []byte {
	return messages.AppendOthers(nil, m, tensorName, tensorDims, tensorDType, rawData, externalData)
}

// readRecord takes what a schema does not hold of a tensor.
func (o *original) readRecord(names map[string]string, m messages.Message) {
	for c := m.Cursor(); c.Next(); {
		if c.Number != innerTensor {
			continue
		}
		r := o.rest(names, c.Message())
		r.tensor = ownFields(c.Message())
		r.compressed = messages.AppendOthers(nil, m, innerTensor)
		r.external = nil
		for f := c.Message().Cursor(); f.Next(); {
			if f.Number == externalData {
				r.external = messages.AppendOthers(r.external, f.Message(),
					externalLocation, externalOffset, externalLength, externalChecksum)
			}
		}
	}
}

// readGraph takes the graph with the names of the schema's tensors, if it is the schema's then.
func (o *original) readGraph(
	e *messages.Edit, m messages.Message, p *schema.Schema, l *schema.LossList,
) {
	edited := make([]byte, 0, len(m.Text()))
	for c := m.Cursor(); c.Next(); {
		if c.Number == graphInitializers {
			o.rest(e.Names, c.Message()).declared = ownFields(c.Message())
			continue
		}
		edited = e.AppendField(edited, typeGraph, &c)
	}
	decoded, err := graphOf(edited, p.Tensors)
	if err == nil && dialect.SameNodes(decoded, p.Graph) {
		o.graph = edited
		return
	}
	o.inner = dialect.Subgraphs(messages.Outermost(string(edited)))
	bare := messages.AppendOthers(nil, m, graphInitializers)
	dialect.Lose(e, messages.Outermost(string(bare)), p, l)
}

// isText reports whether b is a JSON text of m.
func isText(b []byte, m schema.Metadata) bool {
	parsed, err := jsonmeta.Parse(b, jsonmeta.Options{})
	if err != nil {
		return false
	}
	own, err := jsonmeta.Marshal(parsed, jsonmeta.Options{})
	if err != nil {
		return false
	}
	other, err := jsonmeta.Marshal(m, jsonmeta.Options{})
	return err == nil && bytes.Equal(own, other)
}

// quantizes reports whether the fields have the quantization of info, valid or not.
func (r *rest) quantizes(info *tensor.Info) bool {
	if r == nil || len(r.tensor) == 0 {
		return info.Quant == nil
	}
	h := &head{}
	err := h.read(messages.Outermost(string(r.tensor)))
	if err != nil {
		return false
	}
	return h.quant.quantization().Equal(info.Quant)
}

// fields returns the remaining fields of a tensor's message, with the quantization of the schema.
func (r *rest) fields(info *tensor.Info) []byte {
	if r.quantizes(info) {
		if r == nil {
			return nil
		}
		return r.tensor
	}
	quant, _ := quantField(info) // Losses checked it; only a copy keeps invalid parameters
	if r == nil {
		r = &rest{}
	}
	own := messages.Outermost(string(r.tensor))
	var metadata []byte
	for c := own.Cursor(); c.Next(); {
		if c.Number == tensorMetadata {
			metadata = messages.AppendOthers(metadata, c.Message(), metadataQuantization)
		}
	}
	metadata = append(metadata, quant...)
	if len(metadata) == 0 {
		return messages.AppendOthers(nil, own, tensorMetadata)
	}
	b := messages.AppendBytes(nil, tensorMetadata, metadata)
	return messages.AppendOthers(b, own, tensorMetadata)
}
