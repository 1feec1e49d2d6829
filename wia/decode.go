package wia

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The functions below read messages whose wire rules have been checked. A
// message that occurs again is read into the same value: that is how protobuf
// merges. Byte fields alias the payload.

// str reads a string field.
func (s *source) str(out *string, f *field) error {
	b, err := s.bytes(f.start, f.end)
	*out = string(b)
	return err
}

// keep appends a field, tag and all, to the unknown ones.
func (s *source) keep(out *[]byte, f *field) error {
	b, err := s.bytes(f.at, f.end)
	*out = append(*out, b...)
	return err
}

// alloc makes the message that *p points to unless it is there already.
func alloc[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// extend appends an empty message.
func extend[T any](list *[]T) *T {
	var zero T
	*list = append(*list, zero)
	return &(*list)[len(*list)-1]
}

func (g *Graph) merge(s *source, msg field) error {
	// Nodes are large and may be many in few bytes: room for just as many spares
	// the copies that growing would leave behind.
	nodes := 0
	err := s.each(graphMsg, msg, func(f field) error {
		if f.num == 2 {
			nodes++
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.Nodes = slices.Grow(g.Nodes, nodes)
	return s.each(graphMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.str(&g.Name, &f)
		case 2:
			return extend(&g.Nodes).merge(s, f)
		case 3:
			return extend(&g.Inputs).merge(s, f)
		case 4:
			return extend(&g.Outputs).merge(s, f)
		case 5:
			return extend(&g.Initializers).merge(s, f)
		case 6:
			return alloc(&g.Metadata).merge(s, f)
		}
		return s.keep(&g.Unknown, &f)
	})
}

func (n *Node) merge(s *source, msg field) error {
	return s.each(nodeMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.str(&n.Name, &f)
		case 2:
			return s.str(&n.OpType, &f)
		case 3:
			return s.str(extend(&n.Inputs), &f)
		case 4:
			return s.str(extend(&n.Outputs), &f)
		case 5:
			return extend(&n.Attributes).merge(s, f)
		case 6:
			return s.str(&n.DocString, &f)
		case 7:
			return n.domain(s, &f)
		}
		return s.keep(&n.Unknown, &f)
	})
}

// domain reads the one field this library adds to a message that the
// specification prints. Elsewhere the number may mean something else: what
// cannot be a domain is kept as an unknown field.
func (n *Node) domain(s *source, f *field) error {
	if f.typ != protowire.BytesType || s.checkString(&fieldDef{kind: kindName}, f) != nil {
		return s.keep(&n.Unknown, f)
	}
	return s.str(&n.Domain, f)
}

func (v *ValueInfo) merge(s *source, msg field) error {
	return s.each(valueInfoMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.str(&v.Name, &f)
		case 2:
			return alloc(&v.Type).merge(s, f)
		case 3:
			return s.str(&v.DocString, &f)
		}
		return s.keep(&v.Unknown, &f)
	})
}

func (m *GraphMetadata) merge(s *source, msg field) error {
	return s.each(graphMetaMsg, msg, func(f field) error {
		if f.num == 1 {
			return extend(&m.Properties).merge(s, f)
		}
		return s.keep(&m.Unknown, &f)
	})
}

func (k *KeyValue) merge(s *source, msg field) error {
	return s.each(keyValueMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.str(&k.Key, &f)
		case 2:
			return s.str(&k.Value, &f)
		}
		return s.keep(&k.Unknown, &f)
	})
}

func (t *Type) merge(s *source, msg field) error {
	return s.each(typeMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return alloc(&t.Tensor).merge(s, f)
		case 6:
			return s.str(&t.Denotation, &f)
		}
		return s.keep(&t.Unknown, &f)
	})
}

func (t *TensorType) merge(s *source, msg field) error {
	return s.each(tensorTypeMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			t.ElemType = int32(f.val)
			return nil
		case 2:
			return alloc(&t.Shape).merge(s, f)
		}
		return s.keep(&t.Unknown, &f)
	})
}

func (d *Shape) merge(s *source, msg field) error {
	return s.each(shapeMsg, msg, func(f field) error {
		if f.num == 1 {
			return extend(&d.Dims).merge(s, f)
		}
		return s.keep(&d.Unknown, &f)
	})
}

func (d *Dimension) merge(s *source, msg field) error {
	return s.each(dimensionMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			*alloc(&d.Value) = int64(f.val)
			return nil
		case 2:
			return s.str(alloc(&d.Param), &f)
		case 3:
			return s.str(&d.Denotation, &f)
		}
		return s.keep(&d.Unknown, &f)
	})
}

// attributeTypes tells which type the value fields of an Attribute belong to.
var attributeTypes = [...]AttributeType{
	2: AttributeFloat, 3: AttributeInt, 4: AttributeString, 5: AttributeTensor, 6: AttributeGraph,
	7: AttributeFloats, 8: AttributeInts, 9: AttributeStrings, 10: AttributeTensors, 11: AttributeGraphs,
}

func (a *Attribute) merge(s *source, msg field) error {
	return s.each(attributeMsg, msg, func(f field) (err error) {
		if int(f.num) < len(attributeTypes) && f.num > 1 {
			a.seen = attributeTypes[f.num]
		}
		switch f.num {
		case 1:
			return s.str(&a.Name, &f)
		case 2:
			a.F = math.Float32frombits(uint32(f.val))
		case 3:
			a.I = int64(f.val)
		case 4:
			a.S, err = s.bytes(f.start, f.end)
		case 5:
			return alloc(&a.T).merge(s, f)
		case 6:
			return alloc(&a.G).merge(s, f)
		case 7:
			a.Floats, err = appendFloats(s, a.Floats, &f)
		case 8:
			a.Ints, err = appendInts(s, a.Ints, &f, maxNumbers)
		case 9:
			*extend(&a.Strings), err = s.bytes(f.start, f.end)
		case 10:
			return extend(&a.Tensors).merge(s, f)
		case 11:
			return extend(&a.Graphs).merge(s, f)
		case 13:
			return s.str(&a.DocString, &f)
		case 20:
			a.Type = AttributeType(f.val)
		case 21:
			return s.str(&a.RefAttrName, &f)
		default:
			return s.keep(&a.Unknown, &f)
		}
		return err
	})
}

func (t *Tensor) merge(s *source, msg field) error {
	return s.each(tensorMsg, msg, func(f field) (err error) {
		switch f.num {
		case 1:
			return s.str(&t.Name, &f)
		case 2:
			t.Dims, err = appendInts(s, t.Dims, &f, maxDims)
			return err
		case 3:
			t.DType = int32(f.val)
			return nil
		case 4:
			t.HasData = true
			t.RawData, err = s.bytes(f.start, f.end)
			return err
		case 5:
			return alloc(&t.External).merge(s, f)
		case 6:
			return alloc(&t.Metadata).merge(s, f)
		}
		return s.keep(&t.Unknown, &f)
	})
}

func (e *ExternalData) merge(s *source, msg field) error {
	return s.each(externalMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.str(&e.Location, &f)
		case 2:
			e.Offset = int64(f.val)
		case 3:
			e.Length = int64(f.val)
		case 4:
			return s.str(&e.Checksum, &f)
		default:
			return s.keep(&e.Unknown, &f)
		}
		return nil
	})
}

func (m *TensorMetadata) merge(s *source, msg field) error {
	return s.each(tensorMetaMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.str(&m.DocString, &f)
		case 2:
			return extend(&m.Properties).merge(s, f)
		case 3:
			return alloc(&m.Quantization).merge(s, f)
		}
		return s.keep(&m.Unknown, &f)
	})
}

func (q *QuantizationParams) merge(s *source, msg field) error {
	return s.each(quantMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			q.Type = int32(f.val)
		case 2:
			q.Scale = math.Float32frombits(uint32(f.val))
		case 3:
			q.ZeroPoint = int32(f.val)
		case 4:
			q.QuantizedType = int32(f.val)
		case 5:
			return alloc(&q.PerChannel).merge(s, f)
		default:
			return s.keep(&q.Unknown, &f)
		}
		return nil
	})
}

func (p *PerChannelQuantization) merge(s *source, msg field) error {
	return s.each(perChannelMsg, msg, func(f field) (err error) {
		switch f.num {
		case 1:
			p.Scales, err = appendFloats(s, p.Scales, &f)
		case 2:
			p.ZeroPoints, err = appendInt32s(s, p.ZeroPoints, &f)
		case 3:
			p.ChannelDim = int32(f.val)
		default:
			return s.keep(&p.Unknown, &f)
		}
		return err
	})
}
