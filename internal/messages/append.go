package messages

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// VarintSize returns the number of bytes of a varint.
func VarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// AppendTag appends the tag of a field.
func AppendTag(b []byte, number, wire int) []byte {
	return binary.AppendUvarint(b, uint64(number)<<3|uint64(wire))
}

// AppendVarint appends an integer field.
func AppendVarint(b []byte, number int, v int64) []byte {
	return binary.AppendUvarint(AppendTag(b, number, Varint), uint64(v))
}

// AppendInt appends an integer field unless v is 0, as in proto3.
func AppendInt(b []byte, number int, v int64) []byte {
	if v == 0 {
		return b
	}
	return AppendVarint(b, number, v)
}

// AppendFloat appends a float field.
func AppendFloat(b []byte, number int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(AppendTag(b, number, Fixed32), math.Float32bits(v))
}

// AppendLength appends the tag and length of a field of n bytes.
func AppendLength(b []byte, number int, n int64) []byte {
	return binary.AppendUvarint(AppendTag(b, number, Bytes), uint64(n))
}

// AppendBytes appends a bytes, string or message field.
func AppendBytes[T ~[]byte | ~string](b []byte, number int, v T) []byte {
	return append(AppendLength(b, number, int64(len(v))), v...)
}

// AppendText appends a string field unless v is "", as in proto3.
func AppendText(b []byte, number int, v string) []byte {
	if v == "" {
		return b
	}
	return AppendBytes(b, number, v)
}

// AppendPackedInts appends a packed list of integers unless it is empty.
func AppendPackedInts[T int32 | int64](b []byte, number int, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	b, start := Begin(b, number)
	for _, v := range list {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return End(b, start)
}

// AppendPackedFloats appends a packed list of floats unless it is empty.
func AppendPackedFloats(b []byte, number int, list []float32) []byte {
	if len(list) == 0 {
		return b
	}
	b = AppendLength(b, number, 4*int64(len(list)))
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Begin begins a message in a field. Pass start to End.
func Begin(b []byte, number int) (_ []byte, start int) {
	b = AppendTag(b, number, Bytes)
	return b, len(b)
}

// End ends the message that began at start. It moves the message to insert its length.
func End(b []byte, start int) []byte {
	n := len(b) - start
	var length [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(length[:], uint64(n))
	b = append(b, length[:size]...)
	copy(b[start+size:], b[start:start+n])
	copy(b[start:], length[:size])
	return b
}

// AppendOthers appends the fields of a message without those that have the given numbers.
func AppendOthers(b []byte, m Message, numbers ...int) []byte {
	for f := m.Cursor(); f.Next(); {
		if !slices.Contains(numbers, f.Number) {
			b = append(b, f.Raw()...)
		}
	}
	return b
}

// AppendOnly appends the fields of a message that have the given numbers.
func AppendOnly(b []byte, m Message, numbers ...int) []byte {
	for f := m.Cursor(); f.Next(); {
		if slices.Contains(numbers, f.Number) {
			b = append(b, f.Raw()...)
		}
	}
	return b
}
