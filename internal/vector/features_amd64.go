//go:build !purego

package vector

import "golang.org/x/sys/cpu"

var (
	haveIntegers = cpu.X86.HasAVX2
	haveHalf     = cpu.X86.HasAVX2 && f16c()
)

// f16c reports whether the processor has F16C, which package cpu does not tell.
func f16c() bool
