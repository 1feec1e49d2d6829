package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append writes the message that m points to in wire form: fields in the order of
// their numbers, those with the zero value left out as proto3 does, then the
// unknown ones. Lists of numbers are packed. The data of a tensor comes last, so
// that a writer can put it where it wants.
func (def *Message) Append(b []byte, m any) []byte {
	if def.Typed != nil {
		m = def.Typed(m)
	}
	for num := range def.Fields {
		d := &def.Fields[num]
		switch {
		case d.subs != nil:
			for i := range d.subs.len(m) {
				b = PutMessage(b, protowire.Number(num), d.Message, d.subs.at(m, i))
			}
		case d.value != nil:
			b = put(b, protowire.Number(num), d.value(m))
		}
	}
	b = append(b, *def.Unknown(m)...)
	if def.Tail != nil {
		b = def.Tail(m, b)
	}
	return b
}

// put writes the Go field that from points to.
func put(b []byte, num protowire.Number, from any) []byte {
	switch p := from.(type) {
	case *string:
		if *p != "" {
			b = PutBytes(b, num, *p)
		}
	case **string:
		if *p != nil {
			b = PutBytes(b, num, **p)
		}
	case *[]string: // "" is a missing optional input
		for _, v := range *p {
			b = PutBytes(b, num, v)
		}
	case *[]byte:
		if len(*p) > 0 {
			b = PutBytes(b, num, *p)
		}
	case *[][]byte:
		for _, v := range *p {
			b = PutBytes(b, num, v)
		}
	case *Raw:
		if *p != nil {
			b = PutBytes(b, num, *p)
		}
	case *[]Raw:
		for _, v := range *p {
			b = PutBytes(b, num, v)
		}
	case **int64:
		if *p != nil {
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(**p))
		}
	case *int64:
		b = PutInt(b, num, *p)
	case *int32:
		b = PutInt(b, num, int64(*p))
	case **float32:
		if *p != nil {
			b = protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), math.Float32bits(**p))
		}
	case *float32: // +0 is left out only: -0 and NaN are values
		if math.Float32bits(*p) != 0 {
			b = protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), math.Float32bits(*p))
		}
	case *[]int64:
		b = PutInts(b, num, *p)
	case *[]int32:
		b = PutInts(b, num, *p)
	case *[]float32:
		b = PutFloats(b, num, *p)
	}
	return b
}

// PutMessage appends a message behind its length. The length is not known
// before: the message is appended first and then moved by the few bytes that
// its length takes.
func PutMessage(b []byte, num protowire.Number, def *Message, m any) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	start := len(b)
	return End(def.Append(b, m), start)
}
