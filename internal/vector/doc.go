// Package vector implements loops over tensor data in assembly: Adler-32, conversion of
// numbers and quantized blocks to float32, and conversion of float32 to 16 and 8 bits with
// error statistics. Each loop has a version in Go that returns the same bits. The Go version
// handles the elements that do not fill a step of the vector loop, and everything on
// processors without the instructions and with the build tag purego.
//
// The vector loops are 3 to 15 times as fast as those in Go (BenchmarkScalar).
//
// Sources may be mapped files that another process cuts short. The runtime turns a fault in
// assembly into a panic only if it can unwind the stack, so every routine is a leaf without
// a stack frame. The runtime cannot preempt assembly, so a call processes at most a block.
package vector

import "github.com/weightmap/weightmap/internal/memory"

const (
	// block is the maximum number of elements, or of bytes to checksum, in one
	// call of an assembly routine: some 20 microseconds of work.
	block = 64 << 10
	// lanes is the number of elements in a step of a conversion; their floats fill a
	// cache line.
	lanes = 16
	// streamed is the number of elements (16 MiB) from which the output bypasses the
	// caches, as it would not fit: 1.6 to 2.8 times as fast (BenchmarkStream).
	streamed = 4 << 20
)

// Streams reports whether a conversion of n elements of size bytes should bypass the caches with
// its output. Elements of 8 bytes leave less room in the caches than others.
func Streams(n int, size int64) bool { return n >= streamed || size == 8 && n >= streamed/4 }

// unaligned returns the number of elements before the first whole cache line of dst.
func unaligned(dst []float32) int {
	const line = 4 * lanes
	n := -memory.Address(memory.BytesOf(dst)) % line / 4
	return min(int(n), len(dst))
}

// split calls vector for the elements of dst that fill whole steps, a block at a time, and
// plain for each of those before and after. If have is false it calls plain for all. With stream
// the steps begin at a cache line.
func split(dst []float32, have, stream bool, vector func(from, to int), plain func(i int)) {
	first := 0
	end := 0
	if have {
		if stream {
			first = unaligned(dst)
		}
		end = first + (len(dst)-first)&^(lanes-1)
	}
	for i := range first {
		plain(i)
	}
	for at := first; at < end; at += block {
		vector(at, min(at+block, end))
	}
	for i := end; i < len(dst); i++ {
		plain(i)
	}
}
