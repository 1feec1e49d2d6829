package vector

// Scaled decodes len(scales) blocks of 32 signed bytes: it multiplies each block with its scale.
// Blocks begin every stride bytes and end with their elements. Products must be exact, as
// those of float16 scales are.
func Scaled(dst []float32, src []byte, stride int, scales []float32) {
	for len(scales) > 0 {
		k := min(len(scales), batch)
		if haveIntegers {
			scaledBlocks(dst[:32*k], src[:k*stride], stride, scales[:k])
		} else {
			scaledPlain(dst, src, stride, scales[:k])
		}
		dst, src, scales = dst[32*k:], src[k*stride:], scales[k:]
	}
}

func scaledPlain(dst []float32, src []byte, stride int, scales []float32) {
	for i, d := range scales {
		out, q := (*[32]float32)(dst[32*i:]), (*[32]byte)(src[(i+1)*stride-32:])
		for j := 0; j < 32; j += 2 { // 1.2 times as fast as one at a time
			x, y := q[j], q[j+1]
			out[j] = d * float32(int8(x))
			out[j+1] = d * float32(int8(y))
		}
	}
}
