package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// PutVarint appends an integer field.
func PutVarint(b []byte, num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

// PutInt appends an integer field unless v is 0, as in proto3.
func PutInt(b []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return PutVarint(b, num, v)
}

// PutFloat appends a float field.
func PutFloat(b []byte, num protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), math.Float32bits(v))
}

// PutLength appends the tag and length of a field of n bytes.
func PutLength(b []byte, num protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.BytesType), uint64(n))
}

// PutBytes appends a bytes or string field.
func PutBytes[T ~[]byte | ~string](b []byte, num protowire.Number, v T) []byte {
	return append(PutLength(b, num, int64(len(v))), v...)
}

// PutText appends a string field unless v is "", as in proto3.
func PutText(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return PutBytes(b, num, v)
}

// PutInts appends a packed list of integers unless it is empty.
func PutInts[T int32 | int64](b []byte, num protowire.Number, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	b, start := Begin(b, num)
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return End(b, start)
}

// PutFloats appends a packed list of floats unless it is empty.
func PutFloats(b []byte, num protowire.Number, list []float32) []byte {
	if len(list) == 0 {
		return b
	}
	b = PutLength(b, num, int64(4*len(list)))
	for _, v := range list {
		b = protowire.AppendFixed32(b, math.Float32bits(v))
	}
	return b
}

// Begin starts a nested message. Pass start to End.
func Begin(b []byte, num protowire.Number) (_ []byte, start int) {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return b, len(b)
}

// End ends the nested message that began at start. It moves the message to insert its length.
func End(b []byte, start int) []byte {
	n := len(b) - start
	size := protowire.SizeVarint(uint64(n))
	b = append(b, make([]byte, size)...)
	copy(b[start+size:], b[start:start+n])
	protowire.AppendVarint(b[:start], uint64(n))
	return b
}
