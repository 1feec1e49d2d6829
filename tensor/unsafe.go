package tensor

import "unsafe"

// This is the one file of the module that imports unsafe. Three things need
// it: a typed slice over mapped bytes without a copy (the purpose of the
// library), the numeric address of a buffer (to check alignment, and to tell
// whether a memory fault lies in a mapping), and the byte order of the host.
// No tool catches a misaligned unsafe.Slice, so cast checks alignment and
// length itself; decodeCopy in decode.go is its copying twin and the tests
// hold the two together.

// Address returns the address of the first byte of b's backing array as a
// number, 0 when b has no capacity. It does not keep b alive.
func Address(b []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// cast returns b's memory as a slice of T, without copying. It fails when b
// does not begin at a multiple of T's size or is no whole number of elements.
func cast[T Elem](b []byte) ([]T, error) {
	var zero T
	size := unsafe.Sizeof(zero)
	if len(b) == 0 {
		return []T{}, nil
	}
	if Address(b)%unsafe.Alignof(zero) != 0 {
		return nil, ErrMisaligned
	}
	if uintptr(len(b))%size != 0 {
		return nil, ErrShape
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))/size), nil
}

// elemSize returns the size of T in bytes.
func elemSize[T Elem]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// bytesOf returns the memory of s as bytes in the host's byte order.
func bytesOf[T Elem](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*elemSize[T]())
}

// littleEndian tells the host's byte order.
var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// AlignedBytes returns n zero bytes whose address is a multiple of 64, the
// alignment that tensor data have in files.
func AlignedBytes(n int) []byte {
	b := make([]byte, n+alignment-1)
	skip := int(-Address(b) & (alignment - 1))
	return b[skip : skip+n : skip+n]
}

const alignment = 64
