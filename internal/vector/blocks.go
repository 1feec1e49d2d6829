//go:build (amd64 || arm64) && !purego

package vector

// adlerBlock returns the sum of the bytes, and the sum of each times its distance
// from the end of p, 1 for the last. It takes up to a block, in whole steps.
//
//go:noescape
func adlerBlock(p []byte) (sum, moment uint64)

// The conversions take a multiple of lanes elements up to a block and, if they are
// to stream, a dst at the start of a cache line. ARM's write all the same.

//go:noescape
func float16Block(dst []float32, src []byte, stream bool)

//go:noescape
func bfloat16Block(dst []float32, src []byte, stream bool)

//go:noescape
func linearBlock(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool)

//go:noescape
func rowBlock(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, step int, stream bool)

// adlerVector is adlerBlock, if the processor has it.
func adlerVector(p []byte) (sum, moment uint64, ok bool) {
	if !haveIntegers {
		return 0, 0, false
	}
	sum, moment = adlerBlock(p)
	return sum, moment, true
}

// float16Vector converts what it can from the front and returns how many that are.
func float16Vector(dst []float32, src []byte, stream bool) (done int) {
	if !haveHalf {
		return 0
	}
	for n := 0; len(dst)-done >= lanes; done += n {
		n = min((len(dst)-done)&^(lanes-1), block)
		float16Block(dst[done:done+n], src[2*done:2*(done+n)], stream)
	}
	return done
}

// bfloat16Vector is float16Vector for bfloat16.
func bfloat16Vector(dst []float32, src []byte, stream bool) (done int) {
	if !haveIntegers {
		return 0
	}
	for n := 0; len(dst)-done >= lanes; done += n {
		n = min((len(dst)-done)&^(lanes-1), block)
		bfloat16Block(dst[done:done+n], src[2*done:2*(done+n)], stream)
	}
	return done
}

// linearVector is float16Vector for bytes.
func linearVector(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool) (done int) {
	if !haveIntegers {
		return 0
	}
	for n := 0; len(dst)-done >= lanes; done += n {
		n = min((len(dst)-done)&^(lanes-1), block)
		linearBlock(dst[done:done+n], src[done:done+n], k, scale, zero, stream)
	}
	return done
}

// rowVector converts all of dst, a multiple of lanes up to a block, if the processor can.
// The parameters are those of as many columns; with a step of 0 the zero points
// of the first ones serve all.
func rowVector(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, step int, stream bool) bool {
	if !haveIntegers {
		return false
	}
	n := len(dst)
	rowBlock(dst, src[:n], k, scales[:n], zeros[:max(lanes, n*step)], step, stream)
	return true
}
