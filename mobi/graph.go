package mobi

import (
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// Graph implements driver.GraphFile.
func (f *parsed) Graph() (*driver.Graph, error) {
	ops := f.decodeOperators()
	entering, leaving := dangling(ops, func(id uint32) bool { _, ok := f.lookup(id); return ok })
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
func fileDim(d format.Dim) uint64 {
	if d.Size >= 0 {
		return uint64(d.Size)
	}
	if n, ok := parseDecimal(d.Symbol, 64); ok && n > math.MaxInt64 {
		return n
	}
	return Dynamic
}

// neutralSpecs translates the inputs or outputs of a graph. A dtype without
// code is not known to the file.
func neutralSpecs(values []format.ValueInfo) []Spec {
	specs := make([]Spec, len(values))
	for i, v := range values {
		specs[i] = Spec{Name: v.Name, Type: unknownType, Dims: make([]uint64, len(v.Dims))}
		if code, ok := TypeOf(v.DType); ok {
			specs[i].Type = code
		} else if code, ok := parseDecimal(v.Code, 16); ok && !v.DType.Valid() {
			specs[i].Type = DataType(code)
		}
		for j, d := range v.Dims {
			specs[i].Dims[j] = fileDim(d)
		}
	}
	return specs
}

// operator translates one node, whose operator there is.
func (n *numbering) operator(node *format.Node) Operator {
	op := Operator{Inputs: make([]uint32, len(node.Inputs)), Outputs: make([]uint32, len(node.Outputs))}
	op.Type, _ = ParseOpType(node.Op)
	for i, e := range node.Inputs {
		op.Inputs[i] = n.byKey[e]
	}
	for i, e := range node.Outputs {
		op.Outputs[i] = n.byKey[e]
	}
	for i := range node.Attributes {
		op.Params = append(op.Params, paramOf(&node.Attributes[i]))
	}
	return op
}

// paramOf makes a parameter of an attribute. Integers take four bytes where they
// can.
func paramOf(a *format.Attribute) Param {
	if v, ok := a.Value.(int64); ok && v == int64(int32(v)) {
		return Param{a.Name, int32(v)}
	}
	return Param{a.Name, a.Value}
}
