//go:build !purego

package vector

// haveXXH64: the processor multiplies four 64-bit integers at once.
var haveXXH64 = have(avx512f|avx512dq|avx512vl, savesZMM)

// havePairs: multiplying four takes no longer than multiplying one. Only AMD's processors
// do so; with Intel's, for which it takes 15 cycles, two sums at a time are no faster.
var havePairs = haveXXH64 && vendor() == amd

// amd is how "AuthenticAMD" begins.
const amd = 'A' | 'u'<<8 | 't'<<16 | 'h'<<24

// vendor returns the first four letters of who made the processor.
func vendor() uint32

// xxhPair continues the lanes of two sums with as many bytes of each, up to a block in
// whole steps of a pair.
//
//go:noescape
func xxhPair(lanes *[2][4]uint64, p, q []byte)

// xxhBlock continues the lanes of w with p, up to a block in whole steps.
//
//go:noescape
func xxhBlock(w *xxhWork, p []byte)
