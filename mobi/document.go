package mobi

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
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
func newDocument(p *format.Plan, common *format.WriteOptions, o *WriteOptions) (*document, error) {
	if o.Footer > CRC32 {
		return nil, planError("footer", fmt.Errorf("%w: %d", format.ErrUnsupported, o.Footer))
	}
	d := &document{footer: o.Footer, tensors: p.Tensors}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		err := checkDType(t.DType)
		if err == nil && len(t.Shape) > 0xFFFF {
			err = fmt.Errorf("%w: rank %d", format.ErrLimit, len(t.Shape))
		}
		if err != nil {
			return nil, planError(fmt.Sprintf("tensor %q", t.Name), err)
		}
	}
	m, err := d.metadata(p.Metadata, common, o)
	if err != nil {
		return nil, err
	}
	ops, err := d.model(p, m, o)
	if err != nil {
		return nil, err
	}
	if err := d.quantise(ops); err != nil {
		return nil, err
	}
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
func (d *document) model(p *format.Plan, m *modelInfo, o *WriteOptions) ([]Operator, error) {
	own := o.Inputs != nil || o.Outputs != nil || o.Operators != nil
	if own && p.Graph != nil {
		return nil, planError("graph", fmt.Errorf("%w: both the plan and the options have one", format.ErrUnsupported))
	}
	g := p.Graph
	if g == nil {
		g = &format.Graph{}
	}
	n, err := newNumbering(d.tensors, g, o.AssignIDs)
	if err != nil {
		return nil, err
	}
	d.ids = n.ids
	if own {
		m.inputs, m.outputs = o.Inputs, o.Outputs
		return cloneOperators(o.Operators), nil
	}
	if m.name == "" {
		m.name = g.Name
	}
	if m.inputs, err = neutralSpecs("graph input", g.Inputs); err != nil {
		return nil, err
	}
	if m.outputs, err = neutralSpecs("graph output", g.Outputs); err != nil {
		return nil, err
	}
	return n.operators(g)
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
func (d *document) metadata(meta format.Metadata, common *format.WriteOptions, o *WriteOptions) (*modelInfo, error) {
	m := &modelInfo{framework: o.FrameworkVersion}
	seen := map[string]bool{}
	for _, e := range meta {
		err := error(nil)
		var n uint64
		switch {
		case seen[e.Key]:
			err = fmt.Errorf("%w: the key occurs twice", format.ErrCorrupt)
		case e.Key == keyName:
			s, ok := e.Value.(string)
			if !ok {
				err = fmt.Errorf("%w: value of type %T", format.ErrUnsupported, e.Value)
			}
			m.name = s
		case e.Key == keyFramework:
			n, err = unsigned(e.Value, 32)
			m.framework = uint32(n)
		case e.Key == keyCreated:
			m.created, err = unsigned(e.Value, 64)
		case e.Key == keyFlags:
			n, err = unsigned(e.Value, 32)
			d.flags = Flags(n)
		case !o.DropMetadata:
			err = fmt.Errorf("%w: MOBI has no field for it", format.ErrUnsupported)
		}
		if err != nil {
			return nil, planError("metadata \""+e.Key+"\"", err)
		}
		seen[e.Key] = true
	}
	if !seen[keyFlags] {
		d.flags = o.Flags | d.contentFlags()
	}
	if !seen[keyCreated] {
		sec := common.Time.Unix()
		if sec < 0 {
			return nil, planError("creation timestamp", fmt.Errorf("%w: %v is before 1970", format.ErrUnsupported, common.Time))
		}
		m.created = uint64(sec)
	}
	return m, nil
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
// reader would refuse is refused here, and the quantisation parameters that a
// reader will find must be those of the plan.
func (d *document) check() error {
	f := &File{header: Header{MetadataOffset: headerSize, TensorOffset: uint32(headerSize + len(d.head)), GraphOffset: 0}}
	p := parser{File: f}
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
