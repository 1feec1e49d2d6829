package onnxgraph

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Equal reports whether two graphs say the same, attributes in the same order. Numbers are
// compared by their bits, tensors by what they are and their bytes.
func Equal(a, b *driver.Graph) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && slices.EqualFunc(a.Inputs, b.Inputs, sameValue) && slices.EqualFunc(a.Outputs, b.Outputs, sameValue) &&
		slices.EqualFunc(a.Nodes, b.Nodes, sameNode) && slices.Equal(a.Initializers, b.Initializers)
}

func sameValue(a, b driver.ValueInfo) bool {
	return a.Name == b.Name && a.DType == b.DType && a.Code == b.Code && (a.Dims == nil) == (b.Dims == nil) && slices.Equal(a.Dims, b.Dims)
}

func sameNode(a, b driver.Node) bool {
	return a.Name == b.Name && a.Op == b.Op && a.Domain == b.Domain && slices.Equal(a.Inputs, b.Inputs) && slices.Equal(a.Outputs, b.Outputs) &&
		slices.EqualFunc(a.Attributes, b.Attributes, func(a, b driver.Attribute) bool { return a.Name == b.Name && sameAttribute(a.Value, b.Value) })
}

func sameAttribute(a, b any) bool {
	switch x := a.(type) {
	case nil, int64, bool, string:
		return a == b
	case float32:
		return sameList([]float32{x}, b, sameFloat32)
	case float64:
		return sameList([]float64{x}, b, sameFloat64)
	case json.RawMessage:
		y, ok := b.(json.RawMessage)
		return ok && bytes.Equal(x, y)
	case tensor.View:
		return sameList([]tensor.View{x}, b, sameView)
	case *driver.Graph:
		return sameList([]*driver.Graph{x}, b, Equal)
	case []int64:
		return sameList(x, b, same)
	case []int32:
		return sameList(x, b, same)
	case []string:
		return sameList(x, b, same)
	case []float32:
		return sameList(x, b, sameFloat32)
	case []float64:
		return sameList(x, b, sameFloat64)
	case []tensor.View:
		return sameList(x, b, sameView)
	case []*driver.Graph:
		return sameList(x, b, Equal)
	}
	return false
}

// sameList compares a list with another, or with the one value that it has.
func sameList[T any](a []T, b any, equal func(a, b T) bool) bool {
	switch y := b.(type) {
	case []T:
		return slices.EqualFunc(a, y, equal)
	case T:
		return len(a) == 1 && equal(a[0], y)
	}
	return false
}

func same[T comparable](a, b T) bool { return a == b }
func sameFloat32(a, b float32) bool  { return math.Float32bits(a) == math.Float32bits(b) }
func sameFloat64(a, b float64) bool  { return math.Float64bits(a) == math.Float64bits(b) }
func sameView(a, b tensor.View) (ok bool) {
	x, y := a.Info(), b.Info()
	if x.Name != y.Name || x.TypeName() != y.TypeName() || !x.Shape.Equal(y.Shape) || x.Size != y.Size || !x.Quant.Equal(y.Quant) {
		return false
	}
	err := a.Use(func(p []byte) error {
		return b.Use(func(q []byte) error {
			ok = bytes.Equal(p, q)
			return nil
		})
	})
	return ok || err != nil && a.Info().DType == tensor.Invalid && x.Encoding == nil // neither can be read
}
