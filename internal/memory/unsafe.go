package memory

import "unsafe"

// This is the only file of the module that imports unsafe. Five things need it: a
// typed slice over mapped bytes, the numeric address of a buffer or a string (to check
// alignment, to attribute memory faults, to compare), the byte order of the host, a slice
// that package fmt does not print, and strings in a buffer of names.
//
// No tool detects a misaligned unsafe.Slice, so Cast checks alignment. The
// tests of package tensor compare Cast with vector.Copy.

// Alignment is the alignment of Aligned: a cache line, which suffices for every dtype.
const Alignment = 64

// Address returns the address of the first byte of b's backing array as a
// number, 0 when b has no capacity. It does not keep b alive.
func Address(b []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// Hidden is a slice as a pointer and a length. Package fmt would print a slice in a struct
// byte by byte, and reading unmapped memory crashes the program. The zero Hidden is nil.
type Hidden struct {
	start *byte
	size  int
}

// Hide returns b as a Hidden.
func Hide(b []byte) Hidden { return Hidden{unsafe.SliceData(b), len(b)} }

// Bytes returns the slice; its capacity is its length.
func (h Hidden) Bytes() []byte { return unsafe.Slice(h.start, h.size) }

// Cast returns b's memory as a slice of T, without copying. It returns false if the address is not
// a multiple of the alignment of T. T must be a type without pointers whose every bit pattern is
// valid.
func Cast[T any](b []byte) ([]T, bool) {
	var zero T
	if len(b) == 0 {
		return []T{}, true
	}
	if Address(b)%unsafe.Alignof(zero) != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))/unsafe.Sizeof(zero)), true
}

// BytesOf returns the memory of s as bytes in the host's byte order. T is as
// for Cast.
func BytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// String returns b's memory as a string. It must not change while the string is in use.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Same reports whether two strings are the same memory. It is faster than a comparison of the
// bytes: 1.8 instead of 2.8 ns a field in wire.Record.
func Same(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// LittleEndian reports whether the host is little-endian.
var LittleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// Aligned returns n zero bytes whose address is a multiple of Alignment.
func Aligned(n int) []byte {
	b := make([]byte, n+Alignment-1)
	skip := int(-Address(b) & (Alignment - 1))
	return b[skip : skip+n : skip+n]
}
