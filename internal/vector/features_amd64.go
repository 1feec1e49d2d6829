//go:build !purego

package vector

import "golang.org/x/sys/cpu"

var (
	haveIntegers = cpu.X86.HasAVX2
	haveHalf     = cpu.X86.HasAVX2 && f16c()
)

// f16c reports whether the processor converts float16, which package cpu does not say.
func f16c() bool
