package wia

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The functions below append messages in wire form: fields in the order of
// their numbers, those with the zero value left out as proto3 does, then the
// unknown ones. Lists of numbers are packed.

func putString(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// putBytes appends a bytes field even when it is empty.
func putBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func putInt(b []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

// putFloat leaves out +0 only: -0 and NaN are values.
func putFloat(b []byte, num protowire.Number, v float32) []byte {
	if math.Float32bits(v) == 0 {
		return b
	}
	return protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), math.Float32bits(v))
}

func putFloats(b []byte, num protowire.Number, list []float32) []byte {
	if len(list) == 0 {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(4*len(list)))
	for _, v := range list {
		b = protowire.AppendFixed32(b, math.Float32bits(v))
	}
	return b
}

func putInts[T int32 | int64](b []byte, num protowire.Number, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	n := 0
	for _, v := range list {
		n += protowire.SizeVarint(uint64(v))
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(n))
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

// encoder is a message that can be appended.
type encoder interface{ append(b []byte) []byte }

// putMessage appends a message behind its length. The length is not known
// before: the message is appended first and then moved by the few bytes that
// its length takes.
func putMessage(b []byte, num protowire.Number, m encoder) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	start := len(b)
	b = m.append(b)
	n := len(b) - start
	size := protowire.SizeVarint(uint64(n))
	b = append(b, make([]byte, size)...)
	copy(b[start+size:], b[start:start+n])
	protowire.AppendVarint(b[:start], uint64(n))
	return b
}

func (g *Graph) append(b []byte) []byte {
	b = putString(b, 1, g.Name)
	for i := range g.Nodes {
		b = putMessage(b, 2, &g.Nodes[i])
	}
	for i := range g.Inputs {
		b = putMessage(b, 3, &g.Inputs[i])
	}
	for i := range g.Outputs {
		b = putMessage(b, 4, &g.Outputs[i])
	}
	for i := range g.Initializers {
		b = putMessage(b, 5, &g.Initializers[i])
	}
	if g.Metadata != nil {
		b = putMessage(b, 6, g.Metadata)
	}
	return append(b, g.Unknown...)
}

func (n *Node) append(b []byte) []byte {
	b = putString(b, 1, n.Name)
	b = putString(b, 2, n.OpType)
	for _, name := range n.Inputs {
		b = putBytes(b, 3, []byte(name)) // "" is a missing optional input
	}
	for _, name := range n.Outputs {
		b = putBytes(b, 4, []byte(name))
	}
	for i := range n.Attributes {
		b = putMessage(b, 5, &n.Attributes[i])
	}
	b = putString(b, 6, n.DocString)
	b = putString(b, 7, n.Domain)
	return append(b, n.Unknown...)
}

func (v *ValueInfo) append(b []byte) []byte {
	b = putString(b, 1, v.Name)
	if v.Type != nil {
		b = putMessage(b, 2, v.Type)
	}
	b = putString(b, 3, v.DocString)
	return append(b, v.Unknown...)
}

func (m *GraphMetadata) append(b []byte) []byte {
	for i := range m.Properties {
		b = putMessage(b, 1, &m.Properties[i])
	}
	return append(b, m.Unknown...)
}

func (k *KeyValue) append(b []byte) []byte {
	b = putString(b, 1, k.Key)
	b = putString(b, 2, k.Value)
	return append(b, k.Unknown...)
}

func (t *Type) append(b []byte) []byte {
	if t.Tensor != nil {
		b = putMessage(b, 1, t.Tensor)
	}
	b = putString(b, 6, t.Denotation)
	return append(b, t.Unknown...)
}

func (t *TensorType) append(b []byte) []byte {
	b = putInt(b, 1, int64(t.ElemType))
	if t.Shape != nil {
		b = putMessage(b, 2, t.Shape)
	}
	return append(b, t.Unknown...)
}

func (d *Shape) append(b []byte) []byte {
	for i := range d.Dims {
		b = putMessage(b, 1, &d.Dims[i])
	}
	return append(b, d.Unknown...)
}

func (d *Dimension) append(b []byte) []byte {
	if d.Value != nil {
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(*d.Value))
	}
	if d.Param != nil {
		b = putBytes(b, 2, []byte(*d.Param))
	}
	b = putString(b, 3, d.Denotation)
	return append(b, d.Unknown...)
}

func (a *Attribute) append(b []byte) []byte {
	b = putString(b, 1, a.Name)
	b = putFloat(b, 2, a.F)
	b = putInt(b, 3, a.I)
	if len(a.S) > 0 {
		b = putBytes(b, 4, a.S)
	}
	if a.T != nil {
		b = putMessage(b, 5, a.T)
	}
	if a.G != nil {
		b = putMessage(b, 6, a.G)
	}
	b = putFloats(b, 7, a.Floats)
	b = putInts(b, 8, a.Ints)
	for _, s := range a.Strings {
		b = putBytes(b, 9, s)
	}
	for i := range a.Tensors {
		b = putMessage(b, 10, &a.Tensors[i])
	}
	for i := range a.Graphs {
		b = putMessage(b, 11, &a.Graphs[i])
	}
	b = putString(b, 13, a.DocString)
	// A value that says nothing of its type by being zero needs the type.
	t := a.Type
	if t == AttributeUndefined {
		t = a.seen
	}
	b = putInt(b, 20, int64(t))
	b = putString(b, 21, a.RefAttrName)
	return append(b, a.Unknown...)
}

// append puts the data last, so that a writer can place them itself.
func (t *Tensor) append(b []byte) []byte {
	b = t.appendHead(b)
	if t.HasData {
		b = putBytes(b, 4, t.RawData)
	}
	return b
}

// appendHead appends all but RawData.
func (t *Tensor) appendHead(b []byte) []byte {
	b = putString(b, 1, t.Name)
	b = putInts(b, 2, t.Dims)
	b = putInt(b, 3, int64(t.DType))
	if t.External != nil {
		b = putMessage(b, 5, t.External)
	}
	if t.Metadata != nil {
		b = putMessage(b, 6, t.Metadata)
	}
	return append(b, t.Unknown...)
}

func (e *ExternalData) append(b []byte) []byte {
	b = putString(b, 1, e.Location)
	b = putInt(b, 2, e.Offset)
	b = putInt(b, 3, e.Length)
	b = putString(b, 4, e.Checksum)
	return append(b, e.Unknown...)
}

func (m *TensorMetadata) append(b []byte) []byte {
	b = putString(b, 1, m.DocString)
	for i := range m.Properties {
		b = putMessage(b, 2, &m.Properties[i])
	}
	if m.Quantization != nil {
		b = putMessage(b, 3, m.Quantization)
	}
	return append(b, m.Unknown...)
}

func (q *QuantizationParams) append(b []byte) []byte {
	b = putInt(b, 1, int64(q.Type))
	b = putFloat(b, 2, q.Scale)
	b = putInt(b, 3, int64(q.ZeroPoint))
	b = putInt(b, 4, int64(q.QuantizedType))
	if q.PerChannel != nil {
		b = putMessage(b, 5, q.PerChannel)
	}
	return append(b, q.Unknown...)
}

func (p *PerChannelQuantization) append(b []byte) []byte {
	b = putFloats(b, 1, p.Scales)
	b = putInts(b, 2, p.ZeroPoints)
	b = putInt(b, 3, int64(p.ChannelDim))
	return append(b, p.Unknown...)
}
