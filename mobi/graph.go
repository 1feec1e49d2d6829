package mobi

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
)

// Graph returns the neutral form of the operator graph; it is never nil.
//
// Edges are ids in decimal, which for constants are the tensor names. Specs
// carry no ids: when as many ids are consumed and defined by nothing as there
// are inputs, these are the inputs, ascending, and bear their names; likewise
// the ids that are produced and never consumed and the outputs. Otherwise the
// edges stay numbers. Operators have no names. Parameters of int32 become
// int64 attributes; those of quantisation stay among them.
func (f *File) Graph() (*format.Graph, error) {
	ops, err := f.Operators()
	if err != nil {
		return nil, err
	}
	entering, leaving := dangling(ops, func(id uint32) bool { _, ok := f.index(id); return ok })
	names := map[uint32]string{}
	claim(names, entering, f.model.inputs)
	claim(names, leaving, f.model.outputs)
	g := &format.Graph{
		Inputs:  valueInfos(f.model.inputs),
		Outputs: valueInfos(f.model.outputs),
		Nodes:   make([]format.Node, len(ops)),
	}
	for i := range ops {
		g.Nodes[i] = format.Node{
			Op:         ops[i].Type.String(),
			Inputs:     edgeNames(names, ops[i].Inputs),
			Outputs:    edgeNames(names, ops[i].Outputs),
			Attributes: attributes(ops[i].Params),
		}
	}
	return g, nil
}

// claim names ids after specs, if there are as many.
func claim(names map[uint32]string, ids []uint32, specs []Spec) {
	if len(ids) != len(specs) {
		return
	}
	for i, id := range ids {
		names[id] = specs[i].Name
	}
}

func edgeNames(names map[uint32]string, ids []uint32) []string {
	edges := make([]string, len(ids))
	for i, id := range ids {
		if n, ok := names[id]; ok {
			edges[i] = n
		} else {
			edges[i] = constantName(id)
		}
	}
	return edges
}

func attributes(params []Param) []format.Attribute {
	attrs := make([]format.Attribute, len(params))
	for i, p := range params {
		attrs[i] = format.Attribute{Name: p.Name, Value: p.Value}
		if n, ok := p.Value.(int32); ok {
			attrs[i].Value = int64(n)
		}
	}
	return attrs
}

func valueInfos(specs []Spec) []format.ValueInfo {
	values := make([]format.ValueInfo, len(specs))
	for i, s := range specs {
		values[i] = format.ValueInfo{Name: s.Name, DType: s.Type.DType(), Dims: make([]format.Dim, len(s.Dims))}
		if !values[i].DType.Valid() && s.Type != unknownType {
			values[i].Code = s.Type.String()
		}
		for j, d := range s.Dims {
			values[i].Dims[j] = neutralDim(d)
		}
	}
	return values
}

// neutralDim keeps the few numbers that an int64 cannot hold as a symbol.
func neutralDim(d uint64) format.Dim {
	switch {
	case d == Dynamic:
		return format.Dim{Size: format.DynamicDim}
	case d > math.MaxInt64:
		return format.Dim{Size: format.DynamicDim, Symbol: strconv.FormatUint(d, 10)}
	}
	return format.Dim{Size: int64(d)}
}

// fileDim is the inverse of neutralDim; other symbols are lost.
func fileDim(d format.Dim) (uint64, error) {
	if d.Size >= 0 {
		return uint64(d.Size), nil
	}
	if d.Size != format.DynamicDim {
		return 0, fmt.Errorf("%w: dim %d", format.ErrShape, d.Size)
	}
	if n, ok := parseDecimal(d.Symbol, 64); ok && n > math.MaxInt64 {
		return n, nil
	}
	return Dynamic, nil
}

// neutralSpecs translates the inputs or outputs of a graph.
func neutralSpecs(kind string, values []format.ValueInfo) ([]Spec, error) {
	specs := make([]Spec, len(values))
	for i, v := range values {
		s, err := neutralSpec(v)
		if err != nil {
			return nil, planError(fmt.Sprintf("%s %q", kind, v.Name), err)
		}
		specs[i] = s
	}
	return specs, nil
}

func neutralSpec(v format.ValueInfo) (Spec, error) {
	s := Spec{Name: v.Name, Type: unknownType, Dims: make([]uint64, len(v.Dims))}
	if v.DType.Valid() {
		code, ok := TypeOf(v.DType)
		if !ok {
			return s, fmt.Errorf("%w: MOBI has no code for %v", format.ErrUnsupported, v.DType)
		}
		s.Type = code
	} else if code, ok := parseDecimal(v.Code, 16); ok {
		s.Type = DataType(code)
	}
	if v.Dims == nil {
		return s, fmt.Errorf("%w: MOBI records the shape of inputs and outputs, which is not known here", format.ErrUnsupported)
	}
	var err error
	for i, d := range v.Dims {
		if s.Dims[i], err = fileDim(d); err != nil {
			return s, err
		}
	}
	return s, nil
}

// operator translates one node.
func (n *numbering) operator(node *format.Node) (Operator, error) {
	op := Operator{Inputs: make([]uint32, len(node.Inputs)), Outputs: make([]uint32, len(node.Outputs))}
	var ok bool
	if op.Type, ok = ParseOpType(node.Op); !ok || node.Domain != "" {
		return op, fmt.Errorf("%w: operator %q of domain %q", format.ErrUnsupported, node.Op, node.Domain)
	}
	for i, e := range node.Inputs {
		op.Inputs[i] = n.byKey[e]
	}
	for i, e := range node.Outputs {
		op.Outputs[i] = n.byKey[e]
	}
	for _, a := range node.Attributes {
		p := Param{Name: a.Name, Value: a.Value}
		if v, ok := a.Value.(int64); ok && v == int64(int32(v)) {
			p.Value = int32(v)
		}
		op.Params = append(op.Params, p)
	}
	return op, nil
}
