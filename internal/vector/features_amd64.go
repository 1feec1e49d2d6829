//go:build !purego

package vector

import "golang.org/x/sys/cpu"

// The processor has AVX2 and F16C, and the system saves their registers.
var (
	haveIntegers = cpu.X86.HasAVX2
	haveHalf     = haveIntegers && f16c()
)

// f16c reports whether the processor converts float16.
func f16c() bool
