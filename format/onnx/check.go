package onnx

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// checker looks at what the wire rules do not cover: names that must be unique, tensors
// in attributes and subgraphs. It works on the message itself and builds nothing.
type checker struct {
	f    *parsed
	s    *protobuf.Source
	name onnxgraph.Names
	h    head
}

// graph checks a graph whose wire rules have been checked.
func (c *checker) graph(msg protobuf.Field, main bool) error {
	base := len(c.name)
	err := c.s.Each(graphMsg, msg, func(f protobuf.Field) error {
		switch f.Num {
		case 1:
			return c.node(f)
		case 5:
			return c.declared(f)
		case 15:
			return c.sparse(f, main)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := protobuf.InField("initializer", c.name.Unique(base, msg.At)); err != nil {
		return err
	}
	return protobuf.InField("input", c.names(graphMsg, msg, 11))
}

// names checks that the names in a field of messages are unique.
func (c *checker) names(def *protobuf.Message, msg protobuf.Field, num protowire.Number) error {
	base, n := len(c.name), 0
	err := c.s.Each(def, msg, func(f protobuf.Field) error {
		if f.Num == num {
			n++
		}
		return nil
	})
	if err == nil {
		err = c.name.AddAll(c.s, def, num, n, msg)
	}
	if err != nil {
		return err
	}
	return c.name.Unique(base, msg.At)
}

// node checks that the names of attributes are unique, and what they hold.
func (c *checker) node(msg protobuf.Field) error {
	err := c.s.Each(nodeMsg, msg, func(f protobuf.Field) error {
		if f.Num != 5 {
			return nil
		}
		return c.attribute(f)
	})
	if err != nil {
		return err
	}
	return protobuf.InField("attribute", c.names(nodeMsg, msg, 5))
}

// attribute checks the tensors and graphs of an attribute.
func (c *checker) attribute(msg protobuf.Field) error {
	single := 0
	return c.s.Each(attributeMsg, msg, func(f protobuf.Field) error {
		switch f.Num {
		case 5:
			if single++; single > 1 {
				return protobuf.Defectf(f.At, tensor.ErrCorrupt, "it occurs twice")
			}
			return c.tensor(f)
		case 10:
			return c.tensor(f)
		case 6, 11:
			return c.graph(f, false)
		case 22, 23:
			_, err := c.sparseTensor(f)
			return err
		}
		return nil
	})
}

// tensor checks a tensor that is part of the graph, and declares the file of its data.
func (c *checker) tensor(msg protobuf.Field) error {
	c.h.reset()
	if err := c.h.read(c.s, msg.Start, msg.End, 3); err != nil {
		return err
	}
	err := c.h.check(msg.At)
	if err == nil && c.h.location == 1 && c.f.src != nil {
		err = protobuf.InField("external_data", c.f.external(&c.h, msg.At, &driver.Tensor{}))
	}
	return err
}

// declare announces the files with data of tensors in functions and trainings, which copies
// of the model have inside.
func (c *checker) declare(m *protobuf.Message, msg protobuf.Field) error {
	return c.s.Each(m, msg, func(f protobuf.Field) error {
		d := m.Known(f.Num)
		switch {
		case d == nil || d.Message == nil:
			return nil
		case d.Message != tensorMsg:
			return c.declare(d.Message, f)
		}
		c.h.reset()
		if err := c.h.read(c.s, f.Start, f.End, 3); err != nil || c.h.location != 1 {
			return err
		}
		return c.tensor(f)
	})
}

// declared checks an initializer of a subgraph, which is in the scope of that graph.
func (c *checker) declared(msg protobuf.Field) error {
	if err := c.tensor(msg); err != nil {
		return err
	}
	if err := driver.CheckName(c.h.name); err != nil {
		return protobuf.InField("name", &protobuf.Defect{At: msg.At, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	return c.name.Add(c.s, tensorMsg, msg, graphSchema.TensorName)
}

// sparse checks a sparse initializer, and lists one of the main graph.
func (c *checker) sparse(msg protobuf.Field, main bool) error {
	x, err := c.sparseTensor(msg)
	if err != nil || !main {
		return err
	}
	t := driver.Tensor{Size: msg.End - msg.Start, Offset: -1, Loaded: true, Encoding: sparseEncoding(x.code)}
	return c.f.add(x.name, x.dims, &t, record{at: msg.Start, end: msg.End, sparse: true}, msg.At)
}

// sparseEncoding names a sparse tensor with elements of that type.
func sparseEncoding(code int32) *tensor.Encoding {
	name := unknownName(code)
	if t := typeOf(code); t != nil {
		name = t.name
	}
	return &tensor.Encoding{Name: sparsePrefix + name}
}

// sparseHead is what a SparseTensorProto says.
type sparseHead struct {
	name []byte
	code int32
	dims []int64
}

// sparseTensor checks that values and indices fit.
func (c *checker) sparseTensor(msg protobuf.Field) (x sparseHead, err error) {
	var values, indices tensor.Shape
	indexCode := int32(0)
	err = c.s.Each(sparseMsg, msg, func(f protobuf.Field) (err error) {
		switch f.Num {
		case 1:
			err = c.tensor(f)
			x.name, x.code, values = bytes.Clone(c.h.name), c.h.code, slices.Clone(tensor.Shape(c.h.dims))
		case 2:
			err = c.tensor(f)
			indexCode, indices = c.h.code, slices.Clone(tensor.Shape(c.h.dims))
		case 3:
			x.dims, err = protobuf.AppendInts(c.s, x.dims, &f, maxRank)
		}
		return err
	})
	if err != nil {
		return x, err
	}
	if _, err := tensor.Shape(x.dims).Elems(); err != nil {
		return x, protobuf.InField("dims", &protobuf.Defect{At: msg.At, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch {
	case len(values) != 1:
		return x, protobuf.InField("values", protobuf.Defectf(msg.At, tensor.ErrCorrupt, "missing, or not of one dim"))
	case values[0] > 0 && (dtypeOf(indexCode) != tensor.Int64 || len(indices) < 1 || len(indices) > 2 || indices[0] != values[0] || len(indices) == 2 && indices[1] != int64(len(x.dims))):
		return x, protobuf.InField("indices", protobuf.Defectf(msg.At, tensor.ErrCorrupt, "type %d of %v for %d values of %v", indexCode, indices, values[0], tensor.Shape(x.dims)))
	}
	return x, nil
}
