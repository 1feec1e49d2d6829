package mobi

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/wire"
)

// document is the encoded file of a schema, without the constants.
type document struct {
	schema    *schema.Schema
	numbering numbering
	losses    *schema.LossList
	model     modelInfo
	footer    Footer
	o         *driver.LayoutOptions
	head      []byte   // metadata and specs
	graph     []byte   // the operator graph
	stored    []stored // the constants, by index in the schema
}

// newDocument encodes a schema, lists what the file cannot hold of it, and checks that readers will
// accept the result.
func newDocument(p *schema.Schema, o *driver.LayoutOptions, f Format,
	l *schema.LossList) (*document, error) {
	d := &document{
		schema:    p,
		numbering: newNumbering(p.Tensors, p.Graph),
		losses:    l,
		footer:    f.Footer,
		o:         o,
		stored:    make([]stored, len(p.Tensors)),
	}
	m := &d.model
	m.framework = f.FrameworkVersion
	m.created = uint64(o.Created())
	m.flags = f.Flags
	d.addTensors()
	l.UniqueMetadata(p, func(_ int, e schema.Entry) error { return m.set(e) })
	var ops []Operator
	if p.Graph != nil {
		ops = d.graphLosses()
		m.name = cmp.Or(m.name, p.Graph.Name)
		m.inputs = each(p.Graph.Inputs, fileSpec)
		m.outputs = each(p.Graph.Outputs, fileSpec)
	}
	ops, err := d.describe(ops, o.KeepNames)
	if err != nil {
		return nil, err
	}
	d.head, err = encodeModel(m)
	if err != nil {
		return nil, err
	}
	d.graph, err = encodeOperators(ops)
	if err != nil {
		return nil, err
	}
	_, dated := p.Metadata.Get(keyCreated)
	if !dated && o.Created() < 0 {
		return nil, wire.Refuse(formatName, "creation timestamp", "%w: %v is before 1970",
			format.ErrUnsupported, o.Time)
	}
	return d, nil
}

// stored is the stored form of a constant.
type stored struct {
	size int64
	gzip bool
	at   int64 // the temporary offset in the target of a packer
}

// class is the sort key of constants in the file. Sorted by it, all are aligned for
// their dtype without padding: each record ends at a multiple of what the next
// needs, since the sizes of record headers are multiples of 8.
func (s stored) class() int {
	if s.gzip {
		return 4
	}
	// Multiples of 8 first, then of 4, of 2, the rest.
	return 3 - bits.TrailingZeros64(uint64(s.size)|8)
}

// layout returns the layout of the file. Only the footer depends on the data.
func (d *document) layout() (*driver.Layout, error) {
	order := make([]int, len(d.stored))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return d.stored[a].class() - d.stored[b].class()
	})
	l := &driver.Layout{
		Offsets: make([]int64, len(d.stored)),
		Sums:    kinds[d.footer],
		Streams: true,
	}
	first := int64(headerSize + len(d.head))
	if len(order) > 0 {
		record := recordMin + 8*int64(len(d.schema.Tensors[order[0]].Shape))
		first = wire.AlignUp(first+record, alignment) - record
	}
	end := first
	l.Parts = make([]driver.Part, 1, len(order)+2)
	b := make(wire.Buffer, 0, 2*recordMin*len(order))
	for _, n := range order {
		at := len(b)
		d.record(&b, n, d.stored[n])
		l.Parts = append(l.Parts, driver.Part{Offset: end, Bytes: b[at:]})
		l.Offsets[n] = end + int64(len(b)-at)
		// Checking the limit after each addition rules out overflow.
		end = l.Offsets[n] + min(d.stored[n].size, maxFileSize)
		if end > maxFileSize {
			break
		}
	}
	l.Size = end + int64(len(d.graph)) + footerSize
	if l.Size > maxFileSize {
		return nil, wire.Refuse(formatName, "total file size",
			"%w: more than the %d bytes that MOBI can describe", format.ErrLimit, int64(maxFileSize))
	}
	l.Parts[0].Bytes = d.front(first, end, l.Size)
	l.Parts = append(l.Parts, driver.Part{Offset: end, Bytes: d.graph})
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		sum := checksum.Of(l.Sums, l.Parts[0].Bytes)
		for i, n := range order {
			sum = checksum.Update(l.Sums, sum, l.Parts[i+1].Bytes)
			sum = checksum.Combine(l.Sums, sum, sums[n], d.stored[n].size)
		}
		sum = checksum.Update(l.Sums, sum, d.graph)
		var footer wire.Buffer
		footer.U32(uint32(sum))
		return []driver.Part{{Offset: l.Size - footerSize, Bytes: footer}}, nil
	}
	return l, nil
}

// record appends the record header of constant i, a field a statement.
func (d *document) record(b *wire.Buffer, i int, s stored) {
	t := &d.schema.Tensors[i]
	code, _ := TypeOf(t.DType)
	if s.gzip {
		code |= gzipFlag
	}
	b.U32(d.numbering.ids[i])
	b.U16(uint16(code))         // data type
	b.U16(uint16(len(t.Shape))) // rank
	b.I64s(t.Shape)
	b.I64(s.size) // data size
}

// front returns everything before the first constant.
func (d *document) front(first, graph, total int64) []byte {
	b := encodeHeader(&Header{
		Magic:          magicNumber,
		Version:        version,
		Flags:          d.model.flags,
		FileSize:       uint32(total),
		MetadataOffset: headerSize,
		TensorOffset:   uint32(first),
		GraphOffset:    uint32(graph),
	})
	b.Raw(d.head)
	b.Zeros(int(first) - len(b))
	return b
}
