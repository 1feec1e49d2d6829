//go:build !purego

package vector

// Bits of what features returns.
const (
	avx2     = 1 << 5
	avx512f  = 1 << 16
	avx512dq = 1 << 17
	avx512vl = 1 << 31

	savesYMM = 1<<1 | 1<<2
	savesZMM = savesYMM | 1<<5 | 1<<6 | 1<<7
)

// The processor has AVX2 and F16C, and the system saves their registers.
var (
	haveIntegers = have(avx2, savesYMM)
	haveHalf     = haveIntegers && f16c()
)

// have reports whether the processor has all of these, and the system saves their
// registers. (golang.org/x/sys/cpu asks for everything, which makes every program 12 kB
// larger.)
func have(bits, registers uint32) bool {
	ebx, saved := features()
	return ebx&bits == bits && saved&registers == registers
}

// features returns EBX of leaf 7 of CPUID, and XCR0: 0 where there are none.
func features() (ebx, saved uint32)

// f16c reports whether the processor converts float16.
func f16c() bool
