package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// PutVarint appends an integer field.
func PutVarint(b []byte, num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

// PutInt appends an integer field, but leaves out 0 as proto3 does.
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

// PutLength appends the tag and the length of a field of n bytes.
func PutLength(b []byte, num protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.BytesType), uint64(n))
}

// PutBytes appends a field of bytes or text.
func PutBytes[T ~[]byte | ~string](b []byte, num protowire.Number, v T) []byte {
	return append(PutLength(b, num, int64(len(v))), v...)
}

// PutText appends a field of text, but leaves out "" as proto3 does.
func PutText(b []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return PutBytes(b, num, v)
}

// PutInts appends a packed list of integers, but leaves out an empty one.
func PutInts[T int32 | int64](b []byte, num protowire.Number, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	n := 0
	for _, v := range list {
		n += protowire.SizeVarint(uint64(v))
	}
	b = PutLength(b, num, int64(n))
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

// PutFloats appends a packed list of floats, but leaves out an empty one.
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

// Begin starts a message in a field; End ends it, given what Begin returned as start.
func Begin(b []byte, num protowire.Number) (_ []byte, start int) {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return b, len(b)
}

// End inserts the length of the message that began at start, and so moves it.
func End(b []byte, start int) []byte {
	n := len(b) - start
	size := protowire.SizeVarint(uint64(n))
	b = append(b, make([]byte, size)...)
	copy(b[start+size:], b[start:start+n])
	protowire.AppendVarint(b[:start], uint64(n))
	return b
}
