// Package vector has the loops over the bytes of tensors for which processors have
// instructions that Go does not reach: Adler-32, numbers of all kinds and blocks of
// quantized ones to float32, and float32 to 16 and 8 bits with what that loses. Each has
// a copy in plain Go that gives the same bits and takes what does not fill a step of the
// vector loop, everything on processors without the instructions, and everything with
// the build tag purego.
//
// The vector loops are 3 to 15 times as fast as the copies (BenchmarkScalar).
//
// Sources may be mapped files that another process cuts short. A fault in assembly
// is a panic like any other only where the runtime can unwind it, so every
// routine is a leaf without a stack frame. The runtime cannot interrupt assembly
// either: a call never takes more than a block.
package vector

import "github.com/weightmap/weightmap/internal/memory"

const (
	// block is the most elements, or bytes to sum, in one call of an assembly
	// routine: some 20 microseconds of work.
	block = 64 << 10
	// lanes is how many elements the loops of the conversions take at a time, whose
	// floats fill a cache line.
	lanes = 16
	// streamed is from how many elements on the output, 16 MiB, bypasses the caches
	// that it would not stay in: 1.6 to 2.8 times as fast (BenchmarkStream).
	streamed = 4 << 20
)

// large reports whether an output bypasses the caches.
func large(dst []float32) bool { return len(dst) >= streamed }

// unaligned returns how many elements lie before the first whole cache line of dst.
func unaligned(dst []float32) int {
	const line = 4 * lanes
	n := -memory.Address(memory.BytesOf(dst)) % line / 4
	return min(int(n), len(dst))
}

// split calls vector for the elements of dst that fill whole steps, a block at a time,
// and plain for those before and after, which are all when there is no vector loop.
// With stream the steps begin at a whole cache line.
func split(dst []float32, have, stream bool, vector, plain func(from, to int)) {
	first, end := 0, 0
	if have {
		if stream {
			first = unaligned(dst)
		}
		end = first + (len(dst)-first)&^(lanes-1)
	}
	plain(0, first)
	for at := first; at < end; at += block {
		vector(at, min(at+block, end))
	}
	plain(end, len(dst))
}
