package mobi

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/schema"
)

// neutralGraph returns the neutral graph of the operators and specs. Edges that are
// inputs or outputs of the model get the names of their specs.
func (f *parsed) neutralGraph() schema.Graph {
	names := edgeNames{}
	entering, leaving := dangling(f.operators, f.isConstant)
	names.add(entering, f.model.inputs)
	names.add(leaving, f.model.outputs)
	nodes := each(f.operators, func(op Operator) schema.Node {
		return schema.Node{
			Op:         op.Type.String(),
			Inputs:     each(op.Inputs, names.of),
			Outputs:    each(op.Outputs, names.of),
			Attributes: each(op.Params, attributeOf),
		}
	})
	return schema.Graph{
		Inputs:  each(f.model.inputs, neutralValue),
		Outputs: each(f.model.outputs, neutralValue),
		Nodes:   nodes,
	}
}

// edgeNames has the names of edges that are inputs or outputs of the model.
type edgeNames map[uint32]string

// add names ids after the specs, if there are as many.
func (n edgeNames) add(ids []uint32, specs []Spec) {
	if len(ids) != len(specs) {
		return
	}
	for i, id := range ids {
		n[id] = specs[i].Name
	}
}

// of returns the name of an edge, which is its id if it has no other.
func (n edgeNames) of(id uint32) string { return cmp.Or(n[id], constantName(id)) }

// each returns the results of f for the elements of a list.
func each[A, B any](list []A, f func(A) B) []B {
	results := make([]B, len(list))
	for i, x := range list {
		results[i] = f(x)
	}
	return results
}

// dangling returns, in ascending order, the ids that operators consume and nothing
// defines, and the ids that operators produce and none consumes.
func dangling(ops []Operator, isConstant func(uint32) bool) (entering, leaving []uint32) {
	var consumed, produced []uint32
	for i := range ops {
		consumed = append(consumed, ops[i].Inputs...)
		produced = append(produced, ops[i].Outputs...)
	}
	consumed = sorted(consumed)
	produced = sorted(produced)
	entering = slices.DeleteFunc(slices.Clone(consumed), func(id uint32) bool {
		return in(produced, id) || isConstant(id)
	})
	leaving = slices.DeleteFunc(produced, func(id uint32) bool { return in(consumed, id) })
	return entering, leaving
}

// sorted sorts ids in place and removes duplicates.
func sorted(ids []uint32) []uint32 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// in reports whether sorted ids contain id.
func in(ids []uint32, id uint32) bool {
	_, ok := slices.BinarySearch(ids, id)
	return ok
}

// neutralValue returns an input or output of a neutral graph.
func neutralValue(s Spec) schema.ValueInfo {
	v := schema.ValueInfo{Name: s.Name, DType: s.Type.DType(), Dims: each(s.Dims, neutralDim)}
	if !v.DType.Valid() && s.Type != unknownType {
		v.Code = s.Type.String()
	}
	return v
}

// neutralDim returns a dim of a neutral graph. A number that an int64 cannot hold
// becomes a symbol.
func neutralDim(d uint64) schema.Dim {
	switch {
	case d == Dynamic:
		return schema.Dim{Size: schema.DynamicDim}
	case d > math.MaxInt64:
		return schema.Dim{Size: schema.DynamicDim, Symbol: strconv.FormatUint(d, 10)}
	}
	return schema.Dim{Size: int64(d)}
}

// fileDim is the inverse of neutralDim. Other symbols are lost.
func fileDim(d schema.Dim) uint64 {
	if d.Size >= 0 {
		return uint64(d.Size)
	}
	n, ok := parseDecimal(d.Symbol, 64)
	if ok && n > math.MaxInt64 {
		return n
	}
	return Dynamic
}

// fileSpec is the inverse of neutralValue. A dtype that MOBI does not have
// becomes unknownType.
func fileSpec(v schema.ValueInfo) Spec {
	return Spec{Name: v.Name, Type: fileType(v), Dims: each(v.Dims, fileDim)}
}

// fileType returns the data type of an input or output of a neutral graph.
func fileType(v schema.ValueInfo) DataType {
	code, ok := TypeOf(v.DType)
	if ok {
		return code
	}
	n, ok := parseDecimal(v.Code, 16)
	if ok && !v.DType.Valid() {
		return DataType(n)
	}
	return unknownType
}

// attributeOf returns a parameter as an attribute.
func attributeOf(p Param) schema.Attribute {
	v, ok := p.Value.(int32)
	if ok {
		p.Value = int64(v)
	}
	return schema.Attribute(p)
}

// paramOf is the inverse of attributeOf. Integers that fit become int32.
func paramOf(a schema.Attribute) Param {
	v, ok := a.Value.(int64)
	if ok && v == int64(int32(v)) {
		a.Value = int32(v)
	}
	return Param(a)
}
