//go:build !purego

package vector

import "golang.org/x/sys/cpu"

// The processor has the instructions, and the system saves their registers.
var (
	haveAVX2 = cpu.X86.HasAVX2
	haveF16C = haveAVX2 && f16c()
)

// f16c reports whether the processor converts float16.
func f16c() bool

// adlerAVX2 returns the sum of the bytes, and the sum of each times its distance
// from the end of p, 1 for the last. It takes up to a block, in whole steps.
//
//go:noescape
func adlerAVX2(p []byte) (sum, moment uint64)

// The conversions take a multiple of lanes elements and, if they are to
// stream, a dst at the start of a cache line.

//go:noescape
func float16F16C(dst []float32, src []byte, stream bool)

//go:noescape
func bfloat16AVX2(dst []float32, src []byte, stream bool)

//go:noescape
func linearAVX2(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool)

//go:noescape
func rowAVX2(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, step int, stream bool)

// adlerVector is adlerAVX2, if there is AVX2.
func adlerVector(p []byte) (sum, moment uint64, ok bool) {
	if !haveAVX2 {
		return 0, 0, false
	}
	sum, moment = adlerAVX2(p)
	return sum, moment, true
}

// float16Vector converts what it can from the front and returns how many that are.
func float16Vector(dst []float32, src []byte, stream bool) (done int) {
	if !haveF16C {
		return 0
	}
	for n := 0; len(dst)-done >= lanes; done += n {
		n = min((len(dst)-done)&^(lanes-1), block)
		float16F16C(dst[done:done+n], src[2*done:2*(done+n)], stream)
	}
	return done
}

// bfloat16Vector is float16Vector for bfloat16.
func bfloat16Vector(dst []float32, src []byte, stream bool) (done int) {
	if !haveAVX2 {
		return 0
	}
	for n := 0; len(dst)-done >= lanes; done += n {
		n = min((len(dst)-done)&^(lanes-1), block)
		bfloat16AVX2(dst[done:done+n], src[2*done:2*(done+n)], stream)
	}
	return done
}

// linearVector is float16Vector for bytes.
func linearVector(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool) (done int) {
	if !haveAVX2 {
		return 0
	}
	for n := 0; len(dst)-done >= lanes; done += n {
		n = min((len(dst)-done)&^(lanes-1), block)
		linearAVX2(dst[done:done+n], src[done:done+n], k, scale, zero, stream)
	}
	return done
}

// rowVector converts all of dst, a multiple of lanes up to a block, if there is AVX2.
// The parameters are those of as many columns; with a step of 0 the zero points
// of the first ones serve all.
func rowVector(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, step int, stream bool) bool {
	if !haveAVX2 {
		return false
	}
	n := len(dst)
	rowAVX2(dst, src[:n], k, scales[:n], zeros[:max(lanes, n*step)], step, stream)
	return true
}
