package wia

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// append writes the message that m points to in wire form: fields in the order of
// their numbers, those with the zero value left out as proto3 does, then the
// unknown ones. Lists of numbers are packed. The data of a tensor comes last, so
// that a writer can put it where it wants.
func (def *message) append(b []byte, m any) []byte {
	if a, ok := m.(*Attribute); ok && a.Type == AttributeUndefined && a.seen != AttributeUndefined {
		// A value that says nothing of its type by being zero needs the type.
		typed := *a
		typed.Type = a.seen
		m = &typed
	}
	for num := range def.fields {
		d := &def.fields[num]
		switch {
		case d.subs != nil:
			for i := range d.subs.len(m) {
				b = putMessage(b, protowire.Number(num), d.message, d.subs.at(m, i))
			}
		case d.value != nil:
			b = put(b, protowire.Number(num), d.value(m))
		}
	}
	b = append(b, *def.unknown(m)...)
	if t, ok := m.(*Tensor); ok && t.HasData {
		b = putBytes(b, rawArm, t.RawData)
	}
	return b
}

// put writes the Go field that from points to.
func put(b []byte, num protowire.Number, from any) []byte {
	switch p := from.(type) {
	case *string:
		if *p != "" {
			b = putString(b, num, *p)
		}
	case **string:
		if *p != nil {
			b = putString(b, num, **p)
		}
	case *[]string: // "" is a missing optional input
		for _, v := range *p {
			b = putString(b, num, v)
		}
	case *[]byte:
		if len(*p) > 0 {
			b = putBytes(b, num, *p)
		}
	case *[][]byte:
		for _, v := range *p {
			b = putBytes(b, num, v)
		}
	case **int64:
		if *p != nil {
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(**p))
		}
	case *int64:
		b = putInt(b, num, *p)
	case *int32:
		b = putInt(b, num, int64(*p))
	case *AttributeType:
		b = putInt(b, num, int64(*p))
	case *float32: // +0 is left out only: -0 and NaN are values
		if math.Float32bits(*p) != 0 {
			b = protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), math.Float32bits(*p))
		}
	case *[]int64:
		b = putInts(b, num, *p)
	case *[]int32:
		b = putInts(b, num, *p)
	case *[]float32:
		b = putFloats(b, num, *p)
	}
	return b
}

func putString(b []byte, num protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func putBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// putInt leaves out 0.
func putInt(b []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
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

// putMessage appends a message behind its length. The length is not known
// before: the message is appended first and then moved by the few bytes that
// its length takes.
func putMessage(b []byte, num protowire.Number, def *message, m any) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	start := len(b)
	b = def.append(b, m)
	n := len(b) - start
	size := protowire.SizeVarint(uint64(n))
	b = append(b, make([]byte, size)...)
	copy(b[start+size:], b[start:start+n])
	protowire.AppendVarint(b[:start], uint64(n))
	return b
}
