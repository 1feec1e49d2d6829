package wia

import (
	"slices"

	"github.com/weightmap/weightmap/format"
)

// Operator is an operator as section 4.2 defines them.
type Operator struct {
	Name         string
	Domain       string // "" is ONNX's own set
	SinceVersion int
	Inputs       []Parameter
	Outputs      []Parameter
	Attributes   []AttributeSpec
}

// Parameter is an input or output of an operator. Parameters of the same Type
// variable have the same element type.
type Parameter struct {
	Name, Type string
	Optional   bool
}

// AttributeSpec is an attribute of an operator.
type AttributeSpec struct {
	Name     string
	Type     AttributeType
	Required bool
	Default  any // as in format.Attribute; nil for none
}

// AttributeType is the type of an attribute; the numbers are ONNX's.
type AttributeType int32

// The types of attributes.
const (
	AttributeUndefined AttributeType = 0
	AttributeFloat     AttributeType = 1
	AttributeInt       AttributeType = 2
	AttributeString    AttributeType = 3
	AttributeTensor    AttributeType = 4
	AttributeGraph     AttributeType = 5
	AttributeFloats    AttributeType = 6
	AttributeInts      AttributeType = 7
	AttributeStrings   AttributeType = 8
	AttributeTensors   AttributeType = 9
	AttributeGraphs    AttributeType = 10
)

// operators are those the specification lists. Others are not known to it, and
// not wrong.
var operators = []Operator{{
	Name:         "Conv",
	SinceVersion: 1,
	Inputs:       []Parameter{{Name: "X", Type: "T"}, {Name: "W", Type: "T"}, {Name: "B", Type: "T", Optional: true}},
	Outputs:      []Parameter{{Name: "Y", Type: "T"}},
	Attributes: []AttributeSpec{
		{Name: "kernel_shape", Type: AttributeInts, Required: true},
		{Name: "strides", Type: AttributeInts, Default: []int64{1, 1}},
	},
}}

// LookupOperator returns what the specification says of an operator; ok is
// false for those it does not list.
func LookupOperator(domain, name string) (op Operator, ok bool) {
	if domain == "ai.onnx" {
		domain = ""
	}
	i := slices.IndexFunc(operators, func(o Operator) bool { return o.Domain == domain && o.Name == name })
	if i < 0 {
		return Operator{}, false
	}
	return operators[i], true
}

// AttributeOf returns the value of a node's attribute, or the default that the
// specification lists for the operator; ok is false when there is neither.
func AttributeOf(n *format.Node, name string) (value any, ok bool) {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a.Value, true
		}
	}
	op, _ := LookupOperator(n.Domain, n.Op)
	for _, a := range op.Attributes {
		if a.Name == name && a.Default != nil {
			return a.Default, true
		}
	}
	return nil, false
}
