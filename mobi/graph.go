package mobi

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Graph implements driver.Parsed. What it takes is computed before it is built.
func (f *parsed) Graph() (g *driver.Graph, err error) {
	err = f.build(nodeBytes, edgeBytes, func() {
		n := f.newNamer()
		g = &format.Graph{
			Inputs:  valueInfos(f.model.inputs),
			Outputs: valueInfos(f.model.outputs),
			Nodes:   make([]format.Node, 0, f.seen.operators.operators),
		}
		f.eachOperator(func(op *rawOp, c *wire.Cursor) {
			node := format.Node{Op: op.typ.String(), Inputs: n.names(op.inputs), Outputs: n.names(op.outputs), Attributes: make([]format.Attribute, op.params)}
			for i := range node.Attributes {
				q := nextParam(c)
				node.Attributes[i] = format.Attribute{Name: string(q.name), Value: q.decode()}
				if v, ok := node.Attributes[i].Value.(int32); ok {
					node.Attributes[i].Value = int64(v)
				}
			}
			g.Nodes = append(g.Nodes, node)
		})
	})
	return g, err
}

// What is made of an operator and of one of its ids, in bytes of memory: in the neutral
// graph, with the tables of names, and in a list of Operators.
const (
	nodeBytes     = 120
	edgeBytes     = 56
	operatorBytes = 80
	idBytes       = 4
	paramBytes    = 64 // either way, besides name and value
	specBytes     = 64
	dimBytes      = 24
)

// build runs do if what it makes of the operators is not out of proportion.
func (f *parsed) build(operator, id int64, do func()) error {
	n := int64(0)
	for _, specs := range [][]Spec{f.model.inputs, f.model.outputs} {
		for i := range specs {
			n += specBytes + dimBytes*int64(len(specs[i].Dims))
		}
	}
	f.eachOperator(func(op *rawOp, c *wire.Cursor) {
		n += operator + id*int64(len(op.inputs)+len(op.outputs))/4
		for range op.params {
			q := nextParam(c)
			n += paramBytes + int64(len(q.name)+len(q.value))
		}
	})
	if err := f.opts.Memory.Build(n, f.header.around()); err != nil {
		return wire.Error(name, "operators", int64(f.header.GraphOffset), err)
	}
	defer f.opts.Memory.Release(n)
	do()
	return nil
}

// namer gives ids their names.
type namer struct {
	ids  []uint32 // ascending
	text []string // by position in ids
}

// newNamer names all ids of the operators: in decimal, but for inputs and outputs.
func (f *parsed) newNamer() *namer {
	var in, out int
	f.eachOperator(func(op *rawOp, c *wire.Cursor) {
		in += len(op.inputs) / 4
		out += len(op.outputs) / 4
		skipParams(op, c)
	})
	consumed, produced := make([]uint32, 0, in), make([]uint32, 0, out)
	f.eachOperator(func(op *rawOp, c *wire.Cursor) {
		consumed, produced = appendIDs(consumed, op.inputs), appendIDs(produced, op.outputs)
		skipParams(op, c)
	})
	consumed, produced = sorted(consumed), sorted(produced)
	entering, leaving := dangling(consumed, produced, func(id uint32) bool { _, ok := f.lookup(id); return ok })
	n := &namer{ids: sorted(append(slices.Clip(consumed), produced...))}
	n.text = make([]string, len(n.ids))
	for i, id := range n.ids {
		n.text[i] = constantName(id)
	}
	n.claim(entering, f.model.inputs)
	n.claim(leaving, f.model.outputs)
	return n
}

// sorted returns ids in order, each once.
func sorted(ids []uint32) []uint32 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// claim names ids after specs, if there are as many.
func (n *namer) claim(ids []uint32, specs []Spec) {
	if len(ids) != len(specs) {
		return
	}
	for i, id := range ids {
		at, _ := slices.BinarySearch(n.ids, id)
		n.text[at] = specs[i].Name
	}
}

// names returns the names of ids as they are in the file.
func (n *namer) names(b []byte) []string {
	names := make([]string, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		at, _ := slices.BinarySearch(n.ids, binary.LittleEndian.Uint32(b))
		names = append(names, n.text[at])
	}
	return names
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
