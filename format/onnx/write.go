package onnx

import (
	"cmp"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// writer holds the layout of a model. It is the Encoder if there is external data.
type writer struct {
	schema *schema.Schema
	o      *driver.LayoutOptions
	align  int64 // of the data in the model

	fields []modelField      // of the model; one stands for the graph
	graph  []byte            // without its initializers
	places []int             // of the first initializers in the graph: offsets
	shells map[string]*shell // by tensor
	docs   onnxgraph.Docs    // of the schema

	ext     *driver.External // nil if it cannot have a name
	offs    []int64          // in ext, -1 for the model itself
	layout  driver.Layout
	t       driver.Target
	at      int64  // end of the layout so far
	pending []byte // the end of the layout, which is not yet a part
	tensor  contents
}

// newWriter lays out a schema.
func newWriter(p *schema.Schema, o *driver.LayoutOptions) (*writer, error) {
	w := &writer{schema: p, o: o, align: alignment, offs: make([]int64, len(p.Tensors))}
	var err error
	w.ext, err = external.New(formatName, o.External, o.Path, files)
	if err != nil && o.ExternalFrom > 0 {
		return nil, wire.Refuse(formatName, "external data", "%w", err)
	}
	err = w.encode()
	if err != nil {
		return nil, wire.Refuse(formatName, "schema", "%w", err)
	}
	for i := range p.Tensors {
		w.offs[i] = -1
		if w.isOutside(&p.Tensors[i]) {
			align := int64(alignment)
			if p.Tensors[i].Size >= pageAlign {
				align = pageAlign
			}
			w.offs[i] = external.Reserve(w.ext, p.Tensors[i].Size, align)
		}
	}
	return w, w.place()
}

// isOutside reports whether the data of a tensor goes to another file.
func (w *writer) isOutside(t *tensor.Info) bool {
	as := storageOf(t)
	return w.o.ExternalFrom > 0 && t.Size >= w.o.ExternalFrom && !as.sparse && !as.fields
}

// encode encodes the schema without its tensors.
func (w *writer) encode() error {
	file, err := originalOf(w.schema, &schema.LossList{})
	if err != nil {
		return err
	}
	h := header{keys: map[string]bool{}, file: file}
	h.fill(w.schema)
	w.fields = h.fields()
	err = checkModel(w.fields)
	if err != nil {
		return err
	}
	w.shells = file.shells
	w.docs = onnxgraph.DocsOf(w.schema.Docs)
	graph := file.graph
	if graph == nil {
		named := schema.Graph{}
		if w.schema.Graph != nil {
			named = *w.schema.Graph
		}
		named.Name = cmp.Or(named.Name, opsets.DefaultGraphName)
		graph, err = dialect.AppendGraph(nil, &named, file.inner)
		if err != nil {
			return err
		}
	}
	graph, changed := dialect.SetGraphDocs(graph, w.docs)
	if changed || file.graph == nil {
		_, err = decodeGraph(string(graph))
		if err != nil {
			return err
		}
	}
	w.takeGraph(graph)
	return nil
}

// takeGraph takes an encoded graph, in which empty fields are the initializers.
func (w *writer) takeGraph(graph []byte) {
	w.graph = make([]byte, 0, len(graph))
	for c := messages.Outermost(memory.String(graph)).Cursor(); c.Next(); {
		if c.Number == initializer {
			w.places = append(w.places, len(w.graph))
			continue
		}
		w.graph = append(w.graph, c.Raw()...)
	}
}

// checkModel returns an error if the parser would refuse the fields of a model.
func checkModel(fields []modelField) error {
	var b []byte
	for _, f := range fields {
		b = append(b, f.raw...)
	}
	m, err := table.Check(typeModel, string(b), messages.NewCounts())
	if err != nil {
		return placed(typeModel, string(b), "", err)
	}
	room := messages.Room{Most: (*driver.Memory)(nil).Room(int64(len(b)))}
	err = new(model).decode(m, &room)
	if err != nil {
		return placed(typeModel, string(b), "", err)
	}
	return nil
}

// place computes the layout. The location of the external file is known only at the end, but its
// length is known now. Operator sets move to the front if the file would not be recognized.
func (w *writer) place() error {
	w.placeFields(w.fields)
	if !w.isRecognized() {
		w.placeFields(setsFirst(w.fields))
	}
	if w.at > maxModel {
		return wire.Refuse(formatName, "tensors",
			"%w: %d bytes are no protocol buffer, which has at most 2 GiB; see WriteOptions.ExternalFrom",
			format.ErrLimit, w.at)
	}
	if !w.isRecognized() {
		return wire.Refuse(formatName, "metadata",
			"%w: without operator sets, and with such texts or such a version, the file would not be "+
				"recognized as ONNX", format.ErrUnsupported)
	}
	return nil
}

func (w *writer) isRecognized() bool {
	head := w.layout.Parts[0].Bytes
	return detect(head[:min(len(head), driver.SniffLen)], w.at)
}

// placeFields lays out the model. The graph's length precedes it, and the padding in it depends on
// where it begins.
func (w *writer) placeFields(fields []modelField) {
	var front, back []byte
	to := &front
	for _, f := range fields {
		if isGraph(f) {
			to = &back
			continue
		}
		*to = append(*to, f.raw...)
	}
	front = messages.AppendTag(front, modelGraph, messages.Bytes)
	least := int64(len(w.graph)) // of the graph
	for i, t := range w.schema.Tensors {
		if w.offs[i] < 0 {
			least += t.Size
		}
	}
	for size := messages.VarintSize(uint64(least)); ; size++ {
		w.layout = driver.Layout{Offsets: make([]int64, len(w.schema.Tensors))}
		w.at = 0
		w.pending = nil
		w.add(front)
		w.add(make([]byte, size))
		start := w.at
		w.placeGraph()
		length := w.at - start
		if messages.VarintSize(uint64(length)) > size {
			continue
		}
		w.add(back)
		w.flush()
		putLength(w.layout.Parts[0].Bytes[len(front):start], uint64(length))
		w.layout.Size = w.at
		return
	}
}

// placeGraph lays out the graph: the initializers in the order of the schema, the first where those
// of the original were.
func (w *writer) placeGraph() {
	from := 0
	places := w.places
	if len(places) == 0 {
		places = []int{w.placeOfFirst()}
	}
	for i := range w.schema.Tensors {
		to := places[min(i, len(places)-1)]
		w.add(w.graph[from:to])
		from = to
		w.initializer(i)
	}
	w.add(w.graph[from:])
}

// placeOfFirst returns the offset in the graph of the first initializer if there is no original: in
// the order of numbers.
func (w *writer) placeOfFirst() int {
	for c := messages.Outermost(memory.String(w.graph)).Cursor(); c.Next(); {
		if c.Number > initializer {
			return int(c.At())
		}
	}
	return len(w.graph)
}

// add appends bytes to the layout.
func (w *writer) add(b []byte) {
	w.pending = append(w.pending, b...)
	w.at += int64(len(b))
}

// addData leaves room for the data of tensor i.
func (w *writer) addData(i int) {
	w.flush()
	w.layout.Offsets[i] = w.at
	w.at += w.schema.Tensors[i].Size
}

// flush makes the bytes that were added a part.
func (w *writer) flush() {
	if len(w.pending) == 0 {
		return
	}
	offset := w.at - int64(len(w.pending))
	n := len(w.pending)
	w.layout.Parts = append(w.layout.Parts, driver.Part{Offset: offset, Bytes: w.pending[:n:n]})
	w.pending = w.pending[n:]
	if cap(w.pending) < partRoom {
		w.pending = make([]byte, 0, partsRoom)
	}
}

// Parts share memory: partsRoom bytes, up to the last partRoom bytes.
const (
	partRoom  = 512
	partsRoom = 16 << 10
)

// initializer lays out the field of a tensor.
func (w *writer) initializer(i int) {
	t := &w.schema.Tensors[i]
	as := storageOf(t)
	if as.sparse {
		w.add(messages.AppendLength(nil, sparseInitializer, t.Size))
		w.addData(i)
		return
	}
	c := w.contents(i, as)
	data := int64(0)
	if c.hasData {
		data = t.Size
	}
	size := int64(len(c.before)+len(c.after)) + data
	padding := int64(0)
	if data > 0 && !as.fields && as.code > 0 && as.code < 0x80 {
		padding = w.paddingOf(size, int64(len(c.before)))
	}
	w.add(messages.AppendLength(nil, initializer, size+padding))
	w.add(c.before[:c.padAt])
	w.pending = appendPadding(w.pending, byte(as.code), padding)
	w.at += padding
	w.add(c.before[c.padAt:])
	if c.hasData {
		w.addData(i)
	}
	w.add(c.after)
}

// paddingOf returns the least number of bytes more that the next initializer, of size bytes, needs
// for its data to be aligned, which follows the first bytes of it.
func (w *writer) paddingOf(size, before int64) int64 {
	length := int64(messages.VarintSize(uint64(size)))
	n := w.paddingBehind(length + before)
	for int64(messages.VarintSize(uint64(size+n))) > length { // the padding makes it longer
		length++
		n = w.paddingBehind(length + before)
	}
	if int64(messages.VarintSize(uint64(size+n))) < length { // less padding would make it short again
		n += w.align
	}
	return n
}

// paddingBehind returns the least number of bytes that align what follows a tag and n more bytes. It
// is not 1, as a field takes two bytes at least.
func (w *writer) paddingBehind(n int64) int64 {
	padding := -(w.at + 1 + n) & (w.align - 1)
	if padding == 1 {
		padding += w.align
	}
	return padding
}

// appendPadding appends padding bytes: data_type again. Of a field that
// occurs more than once the last counts, which is the same.
func appendPadding(b []byte, code byte, padding int64) []byte {
	if padding%2 != 0 { // a varint with a byte more, which says nothing
		b = append(b, dataType<<3, code|0x80, 0)
		padding -= 3
	}
	for ; padding > 0; padding -= 2 {
		b = append(b, dataType<<3, code)
	}
	return b
}

// contents is a TensorProto around its data.
type contents struct {
	before, after []byte
	padAt         int  // offset in before for padding
	hasData       bool // in the model
	out           *[]byte
}

// contents returns the TensorProto of tensor i: that of the original with name, type, dims and data
// of the schema. It is valid until the next call.
func (w *writer) contents(i int, as storage) *contents {
	t := &w.schema.Tensors[i]
	c := &w.tensor
	*c = contents{before: c.before[:0], after: c.after[:0], padAt: -1}
	from := w.shells[t.Name]
	if from == nil {
		c.before = appendDims(c.before, t.Shape)
		c.markPadding()
		c.before = messages.AppendInt(c.before, dataType, int64(as.code))
		c.before = messages.AppendBytes(c.before, tensorName, t.Name)
		w.addDataField(c, i, as)
		c.after = append(c.after, dialect.SetTensorDoc("", onnxgraph.TensorPath(t.Name), w.docs)...)
		return c
	}
	text := dialect.SetTensorDoc(from.text, onnxgraph.TensorPath(t.Name), w.docs)
	c.out = &c.before
	keepsDims := from.dims.Equal(t.Shape)
	isTyped := false
	isNamed := false
	if !keepsDims {
		c.before = appendDims(c.before, t.Shape)
	}
	for f := messages.Outermost(text).Cursor(); f.Next(); {
		switch {
		case f.Number == tensorDims && !keepsDims:
		case f.Number == dataType:
			if !isTyped { // others are padding
				c.markPadding()
				*c.out = messages.AppendInt(*c.out, dataType, int64(as.code))
			}
			isTyped = true
		case f.Number == tensorName:
			if !isNamed {
				*c.out = messages.AppendBytes(*c.out, tensorName, t.Name)
			}
			isNamed = true
		case isData(f.Number):
			w.addDataField(c, i, as)
		default:
			*c.out = append(*c.out, f.Raw()...)
		}
	}
	if c.out == &c.before && (t.Size > 0 || w.offs[i] >= 0) { // there were no elements
		w.addDataField(c, i, as)
	}
	c.markPadding()
	return c
}

// markPadding makes the end of what precedes the data the place of padding, unless there is one.
func (c *contents) markPadding() {
	if c.padAt < 0 {
		c.padAt = len(c.before)
	}
}

// addDataField appends the field of the data up to the data, or where the data is.
func (w *writer) addDataField(c *contents, i int, as storage) {
	t := &w.schema.Tensors[i]
	c.markPadding()
	c.hasData = w.offs[i] < 0
	switch {
	case w.offs[i] >= 0:
		for _, e := range []stringEntry{
			{"location", w.ext.Location},
			{"offset", fmt.Sprint(w.offs[i])},
			{"length", fmt.Sprint(t.Size)},
		} {
			c.before = appendEntry(c.before, externalData, e)
		}
		c.before = messages.AppendInt(c.before, dataLocation, 1)
	case !as.fields:
		c.before = messages.AppendLength(c.before, rawData, t.Size)
	}
	c.out = &c.after
}

// putLength writes a varint that fills b.
func putLength(b []byte, n uint64) {
	for i := range b {
		b[i] = byte(n) | 0x80
		n >>= 7
	}
	b[len(b)-1] &^= 0x80
}

// files lists the files of a model.
func files(path string) ([]string, error) {
	return external.FilesOf(format.Open(path, &format.Options{Format: Format{}}))
}

// Tensor implements driver.Encoder.
func (w *writer) Tensor(i int, in driver.Input) error {
	if w.offs[i] >= 0 {
		return in.CopyTo(w.ext.File, w.offs[i], nil)
	}
	return in.CopyTo(w.t, w.layout.Offsets[i], nil)
}

// Finish implements driver.Encoder. Only now the location of external data is known.
func (w *writer) Finish() error {
	err := w.place()
	if err != nil {
		return err
	}
	for _, part := range w.layout.Parts {
		_, err := w.t.WriteAt(part.Bytes, part.Offset)
		if err != nil {
			return err
		}
	}
	return w.t.Truncate(w.layout.Size)
}

// appendDims appends the dims of a tensor, as the reference does one by one.
func appendDims(b []byte, s tensor.Shape) []byte {
	for _, d := range s {
		b = messages.AppendVarint(b, tensorDims, d)
	}
	return b
}

// checkTensor returns an error for a tensor that cannot be in an attribute.
func checkTensor(info *tensor.Info) error {
	switch {
	case storageOf(info).code == 0:
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, info.TypeName())
	case info.Quant != nil:
		return fmt.Errorf("%w: the format has no quantization parameters of tensors in attributes",
			format.ErrUnsupported)
	}
	return nil
}

// appendTensor appends the fields of a tensor in an attribute.
func appendTensor(b []byte, info *tensor.Info, data []byte) []byte {
	as := storageOf(info)
	b = appendDims(b, info.Shape)
	b = messages.AppendInt(b, dataType, int64(as.code))
	if as.fields {
		b = append(b, data...)
		return messages.AppendText(b, tensorName, info.Name)
	}
	b = messages.AppendText(b, tensorName, info.Name)
	return messages.AppendBytes(b, rawData, data)
}
