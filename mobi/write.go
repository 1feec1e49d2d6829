package mobi

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing a model to path. It writes a temporary file, which replaces
// an old file on Close. Nil options work.
//
// Tensor names must be ids in decimal. If AcceptLoss has "name", other names are
// replaced by the lowest free ids, in the order of the plan, in tensors and graph.
// In the file, constants are sorted by the alignment of their data (see the package
// documentation); the caller may write them in any order.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, new(WriteOptions))
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a model to w. Nil options work. Uncompressed constants are
// streamed in the order of the file; those that arrive early are buffered (see
// Spool) or, with SpoolNever, refused. A file with compressed constants is always
// buffered.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, new(WriteOptions))
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// document is the encoded file of a plan, without the constants.
type document struct {
	flags   Flags
	footer  Footer
	tensors []tensor.Info // as in the plan
	ids     []uint32      // of the tensors
	head    []byte        // metadata and specs
	graph   []byte        // the operator graph
}

// newDocument encodes a plan, lists what the file cannot hold of it, and checks that readers will accept the result.
func newDocument(p *driver.Plan, common *driver.WriteOptions, o *WriteOptions, l *driver.LossList) (*document, error) {
	m := &modelInfo{framework: o.FrameworkVersion, created: uint64(driver.CreationTime(common)), flags: o.Flags}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		tensorLosses(t, l)
		if t.Quant != nil {
			m.flags |= FlagQuantized
		}
		if t.DType == tensor.Float16 {
			m.flags |= FlagFloat16
		}
	}
	l.UniqueMetadata(p, func(_ int, e driver.Entry) error { return m.set(e) })
	n := newNumbering(p.Tensors, p.Graph)
	d := &document{flags: m.flags, footer: o.Footer, tensors: p.Tensors, ids: n.ids}
	own := o.Inputs != nil || o.Outputs != nil || o.Operators != nil
	var ops []Operator
	if own {
		m.inputs, m.outputs, ops = o.Inputs, o.Outputs, slices.Clone(o.Operators)
		for i := range ops {
			ops[i].Params = slices.Clone(ops[i].Params) // some are added
		}
	} else if p.Graph != nil {
		ops = graphLosses{numbering: n, p: p, l: l}.find(m.name)
		m.inputs, m.outputs = fileSpecs(p.Graph.Inputs), fileSpecs(p.Graph.Outputs)
		if m.name == "" {
			m.name = p.Graph.Name
		}
	}
	lost := func(int) bool { return true } // the name of a tensor
	if common.KeepNames {
		ops, lost = addNames(ops, p, n.ids)
	}
	for i := range p.Tensors {
		if _, ok := parseDecimal(p.Tensors[i].Name, 32); !ok && lost(i) {
			l.Renamed(p, i, fmt.Sprintf("MOBI names tensors by ids, decimal numbers up to %d", uint32(math.MaxUint32)))
		}
	}
	addQuantization(ops, p, n.ids, l)
	var err error
	if d.head, err = encodeHead(m); err != nil {
		return nil, err
	}
	if d.graph, err = encodeGraph(ops); err != nil {
		return nil, err
	}
	_, dated := p.Metadata.Get(keyCreated)
	switch {
	case o.Footer > CRC32:
		return nil, planError("footer", fmt.Errorf("%w: %d", format.ErrUnsupported, o.Footer))
	case own && p.Graph != nil:
		return nil, planError("graph", fmt.Errorf("%w: both the plan and the options have one", format.ErrUnsupported))
	case !dated && driver.CreationTime(common) < 0:
		return nil, planError("creation timestamp", fmt.Errorf("%w: %v is before 1970", format.ErrUnsupported, common.Time))
	}
	return d, d.check()
}

// check decodes the encoded parts. It refuses what a reader would refuse, and
// quantization parameters that differ from those of the plan.
func (d *document) check() error {
	p := parser{parsed: &parsed{}, opts: &driver.Options{}, Cursor: wire.NewCursor(name, d.head, headerSize)}
	if p.modelMetadata(); p.Err() != nil {
		return planError("metadata and specs", p.Err())
	}
	p.Cursor = wire.NewCursor(name, d.graph, 0)
	ops := p.readOperators()
	if p.Err() != nil {
		return planError("operators", p.Err())
	}
	found := quantizationsOf(ops)
	for i, id := range d.ids {
		if want := d.tensors[i].Quant; want != nil && !want.Equal(found[id]) {
			err := fmt.Errorf("%w: they differ from those in the operators of the graph", format.ErrQuantization)
			return planError(fmt.Sprintf("tensor %q", d.tensors[i].Name), err)
		}
	}
	return nil
}

// stored is the stored form of a constant.
type stored struct {
	size int64
	gzip bool
}

// plain returns the stored forms of all constants without compression.
func (d *document) plain() []stored {
	list := make([]stored, len(d.tensors))
	for i := range list {
		list[i].size = d.tensors[i].Size
	}
	return list
}

// class is the sort key of constants in the file. Sorted by it, all are aligned for
// their dtype without padding: each record ends at a multiple of what the next
// needs, since the sizes of record headers are multiples of 8.
func (s stored) class() int {
	if s.gzip {
		return 4
	}
	return 3 - bits.TrailingZeros64(uint64(s.size)|8) // multiples of 8 first, then of 4, of 2, the rest
}

// layout returns the layout of a file with the given stored constants. Only the
// footer depends on the data.
func (d *document) layout(constants []stored) (*driver.Layout, error) {
	order := make([]int, len(constants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return constants[a].class() - constants[b].class() })
	first := int64(headerSize + len(d.head))
	if len(order) > 0 {
		head := d.recordSize(order[0])
		data, _ := wire.AlignUp(first+head, alignment)
		first = data - head
	}
	l := &driver.Layout{Offsets: make([]int64, len(constants)), Sums: kinds[d.footer], Streams: true}
	end := first
	records := make([]driver.Part, len(order))
	var b wire.Buffer
	for i, n := range order {
		at := b.Len()
		d.record(&b, n, constants[n])
		records[i] = driver.Part{Offset: end, Bytes: b.Bytes()[at:]}
		l.Offsets[n] = end + d.recordSize(n)
		// Checking the limit after each addition rules out overflow.
		if end = l.Offsets[n] + min(constants[n].size, maxFileSize); end > maxFileSize {
			break
		}
	}
	if l.Size = end + int64(len(d.graph)) + footerSize; l.Size > maxFileSize {
		return nil, planError("total file size", fmt.Errorf("%w: more than the %d bytes that MOBI can describe", format.ErrLimit, int64(maxFileSize)))
	}
	front := driver.Part{Bytes: d.front(first, end, l.Size)}
	l.Parts = slices.Concat([]driver.Part{front}, records, []driver.Part{{Offset: end, Bytes: d.graph}})
	l.Late = func(sums []uint64) ([]driver.Part, error) {
		sum := checksum.Of(l.Sums, front.Bytes)
		for i, n := range order {
			sum = checksum.Update(l.Sums, sum, records[i].Bytes)
			sum = checksum.Combine(l.Sums, sum, sums[n], constants[n].size)
		}
		footer := binary.LittleEndian.AppendUint32(nil, uint32(checksum.Update(l.Sums, sum, d.graph)))
		return []driver.Part{{Offset: l.Size - footerSize, Bytes: footer}}, nil
	}
	return l, nil
}

// recordSize returns the size of the record header of constant i.
func (d *document) recordSize(i int) int64 {
	return recordMin + 8*int64(len(d.tensors[i].Shape))
}

// record appends the record header of constant i.
func (d *document) record(b *wire.Buffer, i int, s stored) {
	t := &d.tensors[i]
	code, _ := TypeOf(t.DType)
	if s.gzip {
		code |= gzipFlag
	}
	b.U32(d.ids[i])
	b.U16(uint16(code))
	b.U16(uint16(len(t.Shape)))
	for _, dim := range t.Shape {
		b.I64(dim)
	}
	b.I64(s.size)
}

// front returns everything before the first constant.
func (d *document) front(first, graph, total int64) []byte {
	var b wire.Buffer
	b.Grow(int(first))
	b.U32(magicNumber)
	b.U16(version)
	b.U16(0)
	b.U32(0)
	b.U32(uint32(d.flags))
	b.U32(uint32(total))
	b.U32(headerSize)
	b.U32(uint32(first))
	b.U32(uint32(graph))
	b.Put32(checksumAt, tensor.CRC32(b.Bytes()))
	b.Raw(d.head)
	b.Fill(int(first)-b.Len(), 0)
	return b.Bytes()
}

// encoder encodes sections. Its first error sticks. It checks that values fit their
// fields of two bytes; document.check does the rest, and what overflows a field of
// four bytes exceeds the size of a file.
type encoder struct {
	wire.Buffer
	err error
}

// count appends n as two bytes.
func (e *encoder) count(what string, n int) {
	if e.err == nil {
		e.err = checkCount(what, n)
	}
	e.U16(uint16(n))
}

func checkCount(what string, n int) error {
	if n > math.MaxUint16 {
		return fmt.Errorf("%w: %s %d", format.ErrLimit, what, n)
	}
	return nil
}

// text appends the length of s as four bytes, and s.
func (e *encoder) text(s string) {
	e.U32(uint32(len(s)))
	e.Str(s)
}

// encodeHead returns the encoded model metadata and specs.
func encodeHead(m *modelInfo) ([]byte, error) {
	var e encoder
	e.text(m.name)
	e.U32(m.framework)
	e.U64(m.created)
	e.U32(uint32(len(m.inputs)))
	e.U32(uint32(len(m.outputs)))
	for _, s := range slices.Concat(m.inputs, m.outputs) {
		e.text(s.Name)
		e.count("rank", len(s.Dims))
		e.U16(uint16(s.Type))
		for _, d := range s.Dims {
			e.U64(d)
		}
		if e.err != nil {
			return nil, planError(fmt.Sprintf("spec %q", s.Name), e.err)
		}
	}
	return e.Bytes(), nil
}

// encodeGraph returns the encoded operator graph.
func encodeGraph(ops []Operator) ([]byte, error) {
	var e encoder
	e.U32(uint32(len(ops)))
	for i := range ops {
		if e.operator(&ops[i]); e.err != nil {
			return nil, planError(fmt.Sprintf("operator %d (%v)", i, ops[i].Type), e.err)
		}
	}
	return e.Bytes(), nil
}

func (e *encoder) operator(op *Operator) {
	e.U16(uint16(op.Type))
	for _, n := range []int{len(op.Inputs), len(op.Outputs), len(op.Params)} {
		e.count("number of inputs, outputs or parameters", n)
	}
	for _, id := range slices.Concat(op.Inputs, op.Outputs) {
		e.U32(id)
	}
	for i := range op.Params {
		if e.param(&op.Params[i]); e.err != nil {
			e.err = fmt.Errorf("parameter %q: %w", op.Params[i].Name, e.err)
			return
		}
	}
}

func (e *encoder) param(p *Param) {
	e.count("name length", len(p.Name))
	e.Str(p.Name)
	typ := fmt.Sprintf("%T", p.Value)
	code := slices.IndexFunc(paramTypes[:], func(t paramType) bool { return t.name == typ })
	if code < 0 {
		e.err = fmt.Errorf("%w: MOBI has no parameters of type %s", format.ErrUnsupported, driver.TypeName(p.Value))
		return
	}
	e.U8(uint8(code))
	if s, ok := p.Value.(string); ok {
		e.text(s)
		if !utf8.ValidString(s) {
			e.err = fmt.Errorf("%w: string is not valid UTF-8", format.ErrCorrupt)
		}
		return
	}
	b := appendValue(nil, p.Value)
	if t := &paramTypes[code]; t.list {
		e.I32(int32(uint64(len(b)) / t.size))
	}
	e.Raw(b)
}

// appendValue appends a parameter of any type but string.
func appendValue(b []byte, v any) []byte {
	le := binary.LittleEndian
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case int32:
		return le.AppendUint32(b, uint32(v))
	case int64:
		return le.AppendUint64(b, uint64(v))
	case float32:
		return le.AppendUint32(b, math.Float32bits(v))
	case float64:
		return le.AppendUint64(b, math.Float64bits(v))
	case []int32:
		return appendValues(b, v)
	case []int64:
		return appendValues(b, v)
	case []float32:
		return appendValues(b, v)
	}
	return b
}

func appendValues[T any](b []byte, list []T) []byte {
	for _, v := range list {
		b = appendValue(b, v)
	}
	return b
}

// planError returns the error for a part of a plan that cannot be written.
func planError(field string, err error) error {
	return wire.Error(name, field, -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
}
