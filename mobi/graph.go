package mobi

import (
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
)

// neutralGraph returns the neutral graph of the operators and specs. Edges that are
// inputs or outputs of the model get the names of their specs.
func (f *parsed) neutralGraph() format.Graph {
	names := map[uint32]string{}
	entering, leaving := dangling(f.operators, f.isConstant)
	claim := func(ids []uint32, specs []Spec) {
		for i, id := range ids {
			if len(ids) == len(specs) {
				names[id] = specs[i].Name
			}
		}
	}
	claim(entering, f.model.inputs)
	claim(leaving, f.model.outputs)
	values := func(ids []uint32) []string {
		list := make([]string, len(ids))
		for i, id := range ids {
			name, ok := names[id]
			if !ok {
				name = constantName(id)
			}
			list[i] = name
		}
		return list
	}
	nodes := make([]format.Node, len(f.operators))
	for i := range f.operators {
		op := &f.operators[i]
		nodes[i] = format.Node{Op: op.Type.String(), Inputs: values(op.Inputs), Outputs: values(op.Outputs), Attributes: make([]format.Attribute, len(op.Params))}
		for k, p := range op.Params {
			nodes[i].Attributes[k] = format.Attribute(p)
			if v, ok := p.Value.(int32); ok {
				nodes[i].Attributes[k].Value = int64(v)
			}
		}
	}
	return format.Graph{Inputs: neutralValues(f.model.inputs), Outputs: neutralValues(f.model.outputs), Nodes: nodes}
}

// dangling returns, in ascending order, the ids that operators consume and nothing
// defines, and the ids that operators produce and none consumes.
func dangling(ops []Operator, isConstant func(uint32) bool) (entering, leaving []uint32) {
	var consumed, produced []uint32
	for i := range ops {
		consumed, produced = append(consumed, ops[i].Inputs...), append(produced, ops[i].Outputs...)
	}
	consumed, produced = sorted(consumed), sorted(produced)
	entering = slices.DeleteFunc(slices.Clone(consumed), func(id uint32) bool { return in(produced, id) || isConstant(id) })
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

func neutralValues(specs []Spec) []format.ValueInfo {
	values := make([]format.ValueInfo, len(specs))
	for i, s := range specs {
		v := format.ValueInfo{Name: s.Name, DType: s.Type.DType(), Dims: make([]format.Dim, len(s.Dims))}
		if !v.DType.Valid() && s.Type != unknownType {
			v.Code = s.Type.String()
		}
		for j, d := range s.Dims {
			v.Dims[j] = neutralDim(d)
		}
		values[i] = v
	}
	return values
}

// neutralDim returns a dim of a neutral graph. A number that an int64 cannot hold
// becomes a symbol.
func neutralDim(d uint64) format.Dim {
	switch {
	case d == Dynamic:
		return format.Dim{Size: format.DynamicDim}
	case d > math.MaxInt64:
		return format.Dim{Size: format.DynamicDim, Symbol: strconv.FormatUint(d, 10)}
	}
	return format.Dim{Size: int64(d)}
}

// fileDim is the inverse of neutralDim. Other symbols are lost.
func fileDim(d format.Dim) uint64 {
	if d.Size >= 0 {
		return uint64(d.Size)
	}
	if n, ok := parseDecimal(d.Symbol, 64); ok && n > math.MaxInt64 {
		return n
	}
	return Dynamic
}

// fileSpecs is the inverse of neutralValues. A dtype that MOBI does not have
// becomes unknownType.
func fileSpecs(values []format.ValueInfo) []Spec {
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

// paramOf returns an attribute as a parameter. Integers that fit become int32.
func paramOf(a format.Attribute) Param {
	if v, ok := a.Value.(int64); ok && v == int64(int32(v)) {
		a.Value = int32(v)
	}
	return Param(a)
}
