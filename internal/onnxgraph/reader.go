package onnxgraph

import (
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Reader makes the neutral graph, from the wire: messages take more than what is made of
// them. Their wire rules have been checked.
type Reader struct {
	*Schema
	Source *protobuf.Source
	// Tensor makes the view of a tensor in an attribute, which is in several pieces when
	// the field that holds it occurs more than once.
	Tensor func(pieces ...protobuf.Field) (tensor.View, error)
}

// Read translates a graph, which is in several pieces when the field that holds it occurs
// more than once: messages merge.
func (r *Reader) Read(pieces ...protobuf.Field) (*driver.Graph, error) {
	n, err := r.count(r.Schema.Graph, pieces...)
	if err != nil {
		return nil, err
	}
	g := &driver.Graph{Initializers: slices.Grow(r.Undeclared, n[r.Initializers])}
	g.Nodes = slices.Grow(g.Nodes, n[r.Nodes])
	g.Inputs, g.Outputs = slices.Grow(g.Inputs, n[r.Inputs]), slices.Grow(g.Outputs, n[r.Outputs])
	for _, piece := range pieces {
		if err := r.Source.Each(r.Schema.Graph, piece, func(f protobuf.Field) error { return r.field(g, f) }); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// count returns how often each field of a message occurs: growing lists would leave copies.
func (r *Reader) count(m *protobuf.Message, pieces ...protobuf.Field) (n [32]int, err error) {
	for _, piece := range pieces {
		err := r.Source.Each(m, piece, func(f protobuf.Field) error {
			if int(f.Num) < len(n) {
				n[f.Num]++
			}
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// field takes a field of a graph.
func (r *Reader) field(g *driver.Graph, f protobuf.Field) (err error) {
	switch f.Num {
	case r.Name:
		err = r.Source.Str(&g.Name, &f)
	case r.Nodes:
		g.Nodes = append(g.Nodes, driver.Node{})
		err = r.node(&g.Nodes[len(g.Nodes)-1], f)
	case r.Inputs:
		g.Inputs, err = r.appendValue(g.Inputs, f)
	case r.Outputs:
		g.Outputs, err = r.appendValue(g.Outputs, f)
	case r.Initializers:
		var name []byte
		name, err = r.Source.Last(r.in(r.Schema.Graph, r.Initializers), f, r.TensorName)
		g.Initializers = append(g.Initializers, string(name))
	}
	return err
}

// in returns the type of the messages in a field.
func (r *Reader) in(m *protobuf.Message, num protowire.Number) *protobuf.Message {
	return m.Fields[num].Message
}

// node translates a node.
func (r *Reader) node(to *driver.Node, msg protobuf.Field) error {
	m, s := r.in(r.Schema.Graph, r.Nodes), r.Source
	n, err := r.count(m, msg)
	if err != nil {
		return err
	}
	to.Inputs, to.Outputs = slices.Grow(to.Inputs, n[r.Node.Inputs]), slices.Grow(to.Outputs, n[r.Node.Outputs])
	to.Attributes = slices.Grow(to.Attributes, n[nodeAttributes])
	return s.Each(m, msg, func(f protobuf.Field) (err error) {
		var text string
		switch f.Num {
		case r.Node.Name:
			err = s.Str(&to.Name, &f)
		case r.Node.Op:
			err = s.Str(&to.Op, &f)
		case r.Node.Inputs:
			err = s.Str(&text, &f)
			to.Inputs = append(to.Inputs, text)
		case r.Node.Outputs:
			err = s.Str(&text, &f)
			to.Outputs = append(to.Outputs, text)
		case nodeDomain:
			if m.Known(f.Num) != nil || s.IsOurs(m, &f) {
				err = s.Str(&to.Domain, &f)
			}
		case nodeAttributes:
			var a driver.Attribute
			a, err = r.attribute(r.in(m, nodeAttributes), f)
			to.Attributes = append(to.Attributes, a)
		}
		return err
	})
}

// appendValue translates what enters or leaves a graph.
func (r *Reader) appendValue(list []driver.ValueInfo, msg protobuf.Field) ([]driver.ValueInfo, error) {
	s, m := r.Source, r.in(r.Schema.Graph, r.Inputs)
	t := r.in(m, valueType)
	var v driver.ValueInfo
	var code int32
	typed := false
	elem := func(f protobuf.Field) error {
		switch f.Num {
		case tensorElem:
			code = int32(f.Val)
		case tensorShape:
			return r.appendDims(&v.Dims, r.in(r.in(t, typeTensor), tensorShape), f)
		}
		return nil
	}
	err := s.Each(m, msg, func(f protobuf.Field) error {
		switch f.Num {
		case valueName:
			return s.Str(&v.Name, &f)
		case valueType:
			return s.Each(t, f, func(f protobuf.Field) error {
				if f.Num != typeTensor {
					return nil
				}
				typed = true
				return s.Each(r.in(t, typeTensor), f, elem)
			})
		}
		return nil
	})
	if typed {
		r.SetType(&v, code)
	}
	return append(list, v), err
}

// appendDims translates a shape. What is not known is nil, a scalar is empty.
func (r *Reader) appendDims(to *[]driver.Dim, m *protobuf.Message, msg protobuf.Field) error {
	n, err := r.count(m, msg)
	if err != nil {
		return err
	}
	dims := protobuf.OrEmpty(slices.Grow(*to, n[shapeDim]))
	err = r.Source.Each(m, msg, func(f protobuf.Field) error {
		if f.Num != shapeDim {
			return nil
		}
		d := driver.Dim{Size: driver.DynamicDim}
		err := r.Source.Each(r.in(m, shapeDim), f, func(f protobuf.Field) error {
			switch f.Num {
			case dimValue:
				d.Size = int64(f.Val)
			case dimParam:
				return r.Source.Str(&d.Symbol, &f)
			}
			return nil
		})
		dims = append(dims, d)
		return err
	})
	*to = dims
	return err
}
