//go:build !purego

package vector

import "golang.org/x/sys/cpu"

// haveXXH64: the processor multiplies four 64-bit integers at once.
var haveXXH64 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ

// xxhBlock continues the lanes of w with p, up to a block in whole steps.
//
//go:noescape
func xxhBlock(w *xxhWork, p []byte)
