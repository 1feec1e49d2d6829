package memory

import "unsafe"

// This is the one file of the module that imports unsafe. Four things need
// it: a typed slice over mapped bytes without a copy (the purpose of the
// library), the numeric address of a buffer (to check alignment, and to tell
// whether a memory fault lies in a mapping), the byte order of the host, and a
// slice that package fmt does not see.
// No tool catches a misaligned unsafe.Slice, so Cast checks alignment and
// length itself; decodeCopy in package tensor is its copying twin and the
// tests there hold the two together.

// Alignment is what Aligned aligns to: the size of a cache line, and enough
// for every dtype.
const Alignment = 64

// Address returns the address of the first byte of b's backing array as a
// number, 0 when b has no capacity. It does not keep b alive.
func Address(b []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// Hidden is a slice as a pointer and a length. Package fmt prints a struct with a slice in
// it byte by byte, even where it calls no method of ours; of memory that was given back the
// program dies. The zero Hidden is nil.
type Hidden struct {
	start *byte
	size  int
}

// Hide hides a slice.
func Hide(b []byte) Hidden { return Hidden{unsafe.SliceData(b), len(b)} }

// Bytes returns the slice, with no room to append.
func (h Hidden) Bytes() []byte { return unsafe.Slice(h.start, h.size) }

// Fit says why bytes cannot be cast.
type Fit uint8

// What Cast answers.
const (
	Fits       Fit = iota
	Misaligned     // the bytes do not begin at a multiple of the alignment of T
	Uneven         // the bytes are not a whole number of elements
)

// Cast returns b's memory as a slice of T, without copying. T must be a type
// without pointers whose every bit pattern is valid.
func Cast[T any](b []byte) ([]T, Fit) {
	var zero T
	size := unsafe.Sizeof(zero)
	if len(b) == 0 {
		return []T{}, Fits
	}
	if Address(b)%unsafe.Alignof(zero) != 0 {
		return nil, Misaligned
	}
	if uintptr(len(b))%size != 0 {
		return nil, Uneven
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))/size), Fits
}

// BytesOf returns the memory of s as bytes in the host's byte order. T is as
// for Cast.
func BytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// LittleEndian tells the host's byte order.
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
