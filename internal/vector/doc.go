// Package vector has the loops over the bytes of tensors for which processors have
// instructions that Go does not reach: Adler-32, XXH64, float16, bfloat16 and quantized
// 8-bit integers to float32; and a hint to fetch bytes. Each has a twin in plain Go that gives the same bits
// and takes what is left over by blocks of the vector loop, everything on
// processors without the instructions, and everything with the build tag purego.
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
	// that it would not stay in: written the plain way, memory is first read into
	// them, and takes the place of the parameters of wide rows.
	streamed = 4 << 20
)

// large reports whether an output is better off outside of the caches.
func large(dst []float32) bool { return len(dst) >= streamed }

// unaligned returns how many elements lie before the first whole cache line of dst:
// what bypasses the caches is written line by line.
func unaligned(dst []float32) int {
	const line = 4 * lanes
	n := -memory.Address(memory.BytesOf(dst)) % line / 4
	return min(int(n), len(dst))
}
