package onnx

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// The helpers below write protocol buffers field by field.

func varint(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func cat(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// num is a varint field, ld a field with a length, f32 and f64 fields of fixed size.
func num(field int, v uint64) []byte { return cat(varint(uint64(field)<<3), varint(v)) }

func ld(field int, parts ...[]byte) []byte {
	b := cat(parts...)
	return cat(varint(uint64(field)<<3|2), varint(uint64(len(b))), b)
}

func str(field int, s string) []byte { return ld(field, []byte(s)) }

func f32(field int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(varint(uint64(field)<<3|5), math.Float32bits(v))
}

// tensorOf is an initializer.
func tensorOf(parts ...[]byte) []byte { return ld(5, parts...) }

// modelOf is a model with one node and the parts in its graph.
func modelOf(parts ...[]byte) []byte {
	g := cat(ld(1, str(1, "x"), str(2, "y"), str(4, "Relu")), str(2, "g"), cat(parts...))
	return cat(num(1, 8), ld(7, g), ld(8, num(2, 17)))
}

// modelOfW is a model with the initializer w, of one dim and a type.
func modelOfW(dim, typ uint64, parts ...[]byte) []byte {
	return modelOf(tensorOf(num(1, dim), num(2, typ), str(8, "w"), cat(parts...)))
}

// weight is a float32 tensor of shape [2].
func weight(name string) []byte {
	return tensorOf(num(1, 2), num(2, 1), str(8, name), ld(9, make([]byte, 8)))
}

func open(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := openBytes(b, nil)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func bytesOf(t *testing.T, f *File, name string) []byte {
	t.Helper()
	v, err := f.Tensor(name)
	expect.OK(t, err)
	b, err := v.Bytes()
	expect.OK(t, err)
	return b
}
