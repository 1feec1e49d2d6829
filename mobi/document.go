package mobi

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// document is what a plan says of a file, all but the data, encoded.
type document struct {
	flags   Flags
	footer  Footer
	tensors []tensor.Info // as in the plan
	ids     []uint32      // of the tensors
	head    []byte        // metadata and specs
	graph   []byte        // the operator graph
}

// newDocument translates a plan and checks that readers will take the result.
func newDocument(p *driver.Plan, common *driver.WriteOptions, o *WriteOptions) (*document, error) {
	if o.Footer > CRC32 {
		return nil, planError("footer", fmt.Errorf("%w: %d", format.ErrUnsupported, o.Footer))
	}
	d := &document{footer: o.Footer, tensors: p.Tensors}
	m, err := d.metadata(p.Metadata, common, o)
	if err != nil {
		return nil, err
	}
	ops, err := d.model(p, m, o)
	if err != nil {
		return nil, err
	}
	if common.KeepNames {
		ops, _ = keepNames(ops, p, d.ids)
	}
	d.quantize(ops)
	if d.head, err = encodeHead(m); err != nil {
		return nil, err
	}
	if d.graph, err = encodeGraph(ops); err != nil {
		return nil, err
	}
	return d, d.check()
}

// model fills ids and specs and returns the operators, from the neutral graph
// or from the options.
func (d *document) model(p *driver.Plan, m *modelInfo, o *WriteOptions) ([]Operator, error) {
	own := o.ownGraph()
	if own && p.Graph != nil {
		return nil, planError("graph", fmt.Errorf("%w: both the plan and the options have one", format.ErrUnsupported))
	}
	n, err := newNumbering(d.tensors, p.Graph)
	if err != nil {
		return nil, err
	}
	d.ids = n.ids
	if own {
		m.inputs, m.outputs = o.Inputs, o.Outputs
		return cloneOperators(o.Operators), nil
	}
	if p.Graph == nil {
		return nil, nil
	}
	if m.name == "" {
		m.name = p.Graph.Name
	}
	m.inputs, m.outputs = neutralSpecs(p.Graph.Inputs), neutralSpecs(p.Graph.Outputs)
	ops, _, _ := n.operators(p.Graph)
	return ops, nil
}

// ownGraph reports whether the options have specs or operators.
func (o *WriteOptions) ownGraph() bool {
	return o.Inputs != nil || o.Outputs != nil || o.Operators != nil
}

// cloneOperators copies operators, whose parameters the writer adds to.
func cloneOperators(ops []Operator) []Operator {
	out := make([]Operator, len(ops))
	for i, op := range ops {
		out[i] = op
		out[i].Params = append([]Param(nil), op.Params...)
	}
	return out
}

// metadata takes the fields that MOBI has from a plan's metadata.
func (d *document) metadata(meta driver.Metadata, common *driver.WriteOptions, o *WriteOptions) (*modelInfo, error) {
	m := &modelInfo{framework: o.FrameworkVersion}
	seen := map[string]bool{}
	for _, e := range meta {
		if err := d.entry(e, m); err != nil {
			return nil, planError("metadata \""+e.Key+"\"", err)
		}
		seen[e.Key] = true
	}
	if !seen[keyFlags] {
		d.flags = o.Flags | d.contentFlags()
	}
	if !seen[keyCreated] {
		sec := common.Created()
		if sec < 0 {
			return nil, planError("creation timestamp", fmt.Errorf("%w: %v is before 1970", format.ErrUnsupported, common.Time))
		}
		m.created = uint64(sec)
	}
	return m, nil
}

// entry takes the field that one entry is for.
func (d *document) entry(e driver.Entry, m *modelInfo) (err error) {
	var n uint64
	switch e.Key {
	case keyName:
		s, ok := e.Value.(string)
		if !ok {
			return fmt.Errorf("%w: value of type %s", format.ErrUnsupported, driver.TypeName(e.Value))
		}
		m.name = s
	case keyFramework:
		n, err = unsigned(e.Value, 32)
		m.framework = uint32(n)
	case keyCreated:
		m.created, err = unsigned(e.Value, 64)
	case keyFlags:
		n, err = unsigned(e.Value, 32)
		d.flags = Flags(n)
	default:
		err = fmt.Errorf("%w: MOBI has no field for it", format.ErrUnsupported)
	}
	return err
}

// contentFlags returns the flags that the constants call for.
func (d *document) contentFlags() (f Flags) {
	for _, t := range d.tensors {
		if t.Quant != nil {
			f |= FlagQuantized
		}
		if t.DType == tensor.Float16 {
			f |= FlagFloat16
		}
	}
	return f
}

// check reads the encoded parts the way an opened file is read: whatever a
// reader would refuse is refused here, and the quantization parameters that a
// reader will find must be those of the plan.
func (d *document) check() error {
	p := parser{parsed: &parsed{}}
	c := wire.NewCursor(name, d.head, headerSize)
	if err := p.modelMetadata(&c); err != nil {
		return planError("metadata and specs", err)
	}
	s, err := p.checkOperators(d.graph, 0)
	if err != nil {
		return planError("operators", err)
	}
	return d.checkQuant(&p, &s)
}
