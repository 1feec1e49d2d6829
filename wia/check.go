package wia

import (
	"slices"

	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// checker looks at what the wire rules do not cover: names that must be unique,
// declarations that must match data, tensors inside attributes. It works on
// the payload itself and builds nothing, so that opening stays cheap.
type checker struct {
	s    *protobuf.Source
	f    *parsed
	seen []bool // initializers of the main graph, by tensor
	name onnxgraph.Names
	decl head
	attr head
	elem head
}

// checkGraph checks the graph block, whose wire rules have been checked.
func (f *parsed) checkGraph() error {
	c := &checker{s: &f.graph.Source, f: f}
	return f.graph.locate("graph", c.graph(true, protobuf.Field{End: f.graph.Size}))
}

// graph checks a graph, which is in several pieces when the field that holds
// it occurs more than once: messages merge.
func (c *checker) graph(main bool, pieces ...protobuf.Field) error {
	base := len(c.name)
	inputs, outputs := 0, 0
	for _, piece := range pieces {
		err := c.s.Each(graphMsg, piece, func(f protobuf.Field) error {
			switch f.Num {
			case 2:
				return c.node(f)
			case 3:
				inputs++
			case 4:
				outputs++
			case 5:
				return c.initializer(main, &f)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := protobuf.InField("initializers", c.name.Unique(base, pieces[0].At)); err != nil {
		return err
	}
	if err := c.values(3, inputs, pieces); err != nil {
		return err
	}
	return c.values(4, outputs, pieces)
}

// values checks that the names of inputs (field 3) or outputs (4) are unique.
func (c *checker) values(num protowire.Number, count int, pieces []protobuf.Field) error {
	if count < 2 {
		return nil
	}
	base := len(c.name)
	if err := c.name.AddAll(c.s, graphMsg, num, count, pieces...); err != nil {
		return err
	}
	return protobuf.InField(graphMsg.Fields[num].Name, c.name.Unique(base, pieces[0].At))
}

// initializer checks a tensor that a graph declares. Those of subgraphs have
// their own scope: their data is no tensor of the file, and the names that
// they share are compared within their graph only.
func (c *checker) initializer(main bool, f *protobuf.Field) error {
	h := &c.decl
	h.reset()
	if err := h.read(c.s, f.Start, f.End, 2); err != nil {
		return err
	}
	if len(h.name) == 0 {
		return protobuf.InField("name", protobuf.Defectf(f.At, tensor.ErrCorrupt, "empty name"))
	}
	if !main {
		if err := c.name.Add(c.s, tensorMsg, *f, graphSchema.TensorName); err != nil {
			return err
		}
	}
	if h.arm != 0 && !main {
		return c.hide(h, f.At, h.check(f.At))
	}
	i, ok := c.f.index.LookupBytes(h.name)
	if !ok {
		return protobuf.Defectf(f.At, tensor.ErrCorrupt, "%q has no data", h.name)
	}
	if main && c.seen == nil {
		c.seen = make([]bool, c.f.index.Len())
	}
	if main && c.seen[i] {
		return protobuf.InField("name", protobuf.Defectf(f.At, tensor.ErrCorrupt, "%q is declared twice", h.name))
	} else if main {
		c.seen[i] = true
	}
	if d := c.f.index.DType(i); dtypeOf(h.dtype) != d {
		return protobuf.InField("dtype", protobuf.Defectf(f.At, tensor.ErrCorrupt, "%q is declared with code %d, its data is %v", h.name, h.dtype, d))
	}
	if s := c.f.index.Shape(i); !s.Equal(h.dims) {
		return protobuf.InField("dims", protobuf.Defectf(f.At, tensor.ErrCorrupt, "%q is declared as %v, its data is %v", h.name, tensor.Shape(h.dims), s))
	}
	return nil
}

// node checks that the names of attributes are unique, and what they hold.
func (c *checker) node(msg protobuf.Field) error {
	base, count := len(c.name), 0
	err := c.s.Each(nodeMsg, msg, func(f protobuf.Field) error {
		if f.Num == 5 {
			count++
		}
		return nil
	})
	if err != nil || count == 0 {
		return err
	}
	c.name = slices.Grow(c.name, count)
	err = c.s.Each(nodeMsg, msg, func(f protobuf.Field) error {
		if f.Num != 5 {
			return nil
		}
		if err := c.name.Add(c.s, attributeMsg, f, 1); err != nil {
			return err
		}
		return c.attribute(f)
	})
	if err != nil {
		return err
	}
	return protobuf.InField("attributes", c.name.Unique(base, msg.At))
}

// attribute checks the tensors and graphs of an attribute.
func (c *checker) attribute(msg protobuf.Field) error {
	var single []protobuf.Field // pieces of g
	tensors, graphs := false, false
	err := c.s.Each(attributeMsg, msg, func(f protobuf.Field) error {
		switch f.Num {
		case 5:
			if !tensors {
				c.attr.reset()
			}
			tensors = true
			return c.attr.read(c.s, f.Start, f.End, 2)
		case 6:
			single = append(single, f)
		case 10:
			c.elem.reset()
			err := c.elem.read(c.s, f.Start, f.End, 2)
			if err == nil {
				err = c.attributeTensor(&c.elem, f.At)
			}
			return err
		case 11:
			graphs = true
		}
		return nil
	})
	if err == nil && tensors {
		err = protobuf.InField("t", c.attributeTensor(&c.attr, msg.At))
	}
	if err == nil && single != nil {
		err = protobuf.InField("g", c.graph(false, single...))
	}
	if err != nil || !graphs {
		return err
	}
	return c.s.Each(attributeMsg, msg, func(f protobuf.Field) error {
		if f.Num != 11 {
			return nil
		}
		return c.graph(false, f)
	})
}

// attributeTensor checks a tensor inside an attribute, which needs no name but
// carries its own data.
func (c *checker) attributeTensor(h *head, at int64) error {
	err := h.check(at)
	if err == nil && h.arm == 0 && h.size > 0 {
		err = h.noData(at)
	}
	return c.hide(h, at, err)
}

// hide notes external data that no tensor of the file has. A graph that is being
// written has no files yet.
func (c *checker) hide(h *head, at int64, err error) error {
	if err != nil || h.arm != externalArm || c.f.src == nil {
		return err
	}
	// They are few in real files. In a hostile one the list is larger than the file.
	if err := c.f.memory.Reserve(elsewhereBytes + int64(len(h.name))); err != nil {
		return &protobuf.Defect{At: at, Err: err}
	}
	s, err := c.f.space(h.ext.location)
	c.f.hidden = append(c.f.hidden, elsewhere{string(h.name), extent{s, h.ext.offset, h.size}, h.ext.sum})
	return err
}
