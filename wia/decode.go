package wia

import (
	"math"
	"slices"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// merge reads a message whose wire rules have been checked into the struct that m
// points to. A message that occurs again is read into the same struct: that is
// how protobuf merges. Byte fields alias the payload.
func (s *source) merge(def *message, m any, msg field) error {
	attribute, _ := m.(*Attribute)
	if g, ok := m.(*Graph); ok {
		if err := s.growNodes(g, msg); err != nil {
			return err
		}
	}
	return s.each(def, msg, func(f field) error {
		d := def.known(f.num)
		if d == nil && s.isOurs(def, &f) {
			d = &def.fields[f.num]
		}
		switch {
		case d == nil:
			return s.keep(def.unknown(m), &f)
		case attribute != nil && int(f.num) < len(attributeTypes) && f.num > 1:
			attribute.seen = attributeTypes[f.num]
		}
		switch {
		case d.subs != nil:
			return s.merge(d.message, d.subs.next(m), f)
		case d.value != nil:
			return s.take(d.value(m), &f)
		}
		return nil
	})
}

// growNodes makes room for the nodes of a graph. They are large and may be many in
// few bytes: room for just as many spares the copies that growing would leave.
func (s *source) growNodes(g *Graph, msg field) error {
	nodes := 0
	err := s.each(graphMsg, msg, func(f field) error {
		if f.num == 2 {
			nodes++
		}
		return nil
	})
	g.Nodes = slices.Grow(g.Nodes, nodes)
	return err
}

// isOurs recognizes the one field that this library adds to a message that the
// specification prints. Elsewhere the number may mean something else: what
// cannot be a name is kept as an unknown field.
func (s *source) isOurs(def *message, f *field) bool {
	return int(f.num) < len(def.fields) && def.fields[f.num].kind == kindOurs &&
		f.typ == protowire.BytesType && s.checkString(&fieldDef{kind: kindName}, f) == nil
}

// attributeTypes tells which type the value fields of an Attribute belong to.
var attributeTypes = [...]AttributeType{
	2: AttributeFloat, 3: AttributeInt, 4: AttributeString, 5: AttributeTensor, 6: AttributeGraph,
	7: AttributeFloats, 8: AttributeInts, 9: AttributeStrings, 10: AttributeTensors, 11: AttributeGraphs,
}

// take reads a field into the Go field that to points to.
func (s *source) take(to any, f *field) (err error) {
	switch p := to.(type) {
	case *string:
		err = s.str(p, f)
	case **string:
		err = s.str(alloc(p), f)
	case *[]string:
		err = s.str(extend(p), f)
	case *[]byte:
		*p, err = s.bytes(f.start, f.end)
	case *[][]byte:
		*extend(p), err = s.bytes(f.start, f.end)
	case *Tensor:
		p.HasData = true
		p.RawData, err = s.bytes(f.start, f.end)
	case *int64:
		*p = int64(f.val)
	case **int64:
		*alloc(p) = int64(f.val)
	case *int32:
		*p = int32(f.val)
	case *AttributeType:
		*p = AttributeType(f.val)
	case *float32:
		*p = math.Float32frombits(uint32(f.val))
	case *[]int64:
		*p, err = appendInts(s, *p, f, maxNumbers)
	case *[]int32:
		*p, err = appendInt32s(s, *p, f)
	case *[]float32:
		*p, err = appendFloats(s, *p, f)
	}
	return err
}

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

// appendInts reads a repeated integer, packed or not, up to a number of most.
func appendInts(s *source, out []int64, f *field, most int) ([]int64, error) {
	if f.typ == protowire.VarintType {
		out = append(out, int64(f.val))
	}
	for p := f.start; f.typ == protowire.BytesType && p < f.end && len(out) <= most; {
		v, next, err := s.varint(p, f.end)
		if err != nil {
			return out, err
		}
		out, p = append(out, int64(v)), next
	}
	if len(out) > most {
		return out, defectf(f.at, tensor.ErrLimit, "more than %d", most)
	}
	return out, nil
}

// appendInt32s reads a repeated int32; what is beyond is cut off, as everywhere
// in protobuf.
func appendInt32s(s *source, out []int32, f *field) ([]int32, error) {
	if f.typ == protowire.VarintType {
		return append(out, int32(f.val)), nil
	}
	for p := f.start; p < f.end; {
		v, next, err := s.varint(p, f.end)
		if err != nil {
			return out, err
		}
		out, p = append(out, int32(v)), next
	}
	return out, nil
}

// appendFloats reads a repeated float, packed or not.
func appendFloats(s *source, out []float32, f *field) ([]float32, error) {
	if f.typ == protowire.Fixed32Type {
		return append(out, math.Float32frombits(uint32(f.val))), nil
	}
	b, err := s.bytes(f.start, f.end)
	for ; err == nil && len(b) >= 4; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		out = append(out, math.Float32frombits(v))
	}
	return out, err
}
