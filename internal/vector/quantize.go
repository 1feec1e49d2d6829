package vector

import "math"

// Steps maps real numbers to integers: it divides by a positive float32 scale, rounds, clips
// to the range from Lo to Hi, which are integers of at most 16 bits, and adds a zero point.
type Steps struct {
	Inverse float64 // 1/scale
	Lo, Hi  float64 // without the zero point
	Zero    float64 // an int32
}

// Integer returns the integer for x: x/scale rounded to nearest, ties to even, plus the zero
// point.
//
// The product with the inverse is off by less than 2^-36. A quotient of two numbers of 24
// bits that is not halfway between integers is at least 2^-26 away from there. So rounding
// the product to a multiple of 2^-30 first restores exact halves and changes no other result.
func (s *Steps) Integer(x float32) int32 {
	// The unit in the last place of snap is 2^-30, that of whole is 1: adding them rounds to
	// multiples of that.
	const snap = 3 << 21
	const whole = 3 << 51
	v := float64(float64(x) * s.Inverse)
	if v > s.Hi {
		v = s.Hi
	}
	if v < s.Lo {
		v = s.Lo
	}
	v = v + snap - snap
	return int32(v+whole-whole) + int32(s.Zero)
}

// Quantize fills dst with the lowest byte of the integer for each number in src.
func Quantize(dst []byte, src []float32, s *Steps) {
	split(src, haveIntegers, false,
		func(i, j int) { quantizeBlock(dst[i:j], src[i:j], s) },
		func(i int) { dst[i] = byte(s.Integer(src[i])) })
}

// QuantizeRow is Quantize for a row of numbers; each uses the Steps of its column.
func QuantizeRow(dst []byte, src []float32, s []Steps) {
	split(src, haveIntegers, false,
		func(i, j int) { quantizeRowBlock(dst[i:j], src[i:j], s[i:j]) },
		func(i int) { dst[i] = byte(s[i].Integer(src[i])) })
}

// sumLanes is the number of partial sums. Element i of a tensor is added to sum i%8, so that
// the result does not depend on how the tensor is divided.
const sumLanes = 8

// Errors accumulates the errors of quantized numbers. Numbers that are not finite are ignored.
type Errors struct {
	worst, abs, noise, signal [sumLanes]float64
	// Nonzero and Zeroed count the numbers that are not 0, and those among them that became 0.
	Nonzero, Zeroed int64
}

// Add compares numbers with stand, their values after quantization. The first has index at in
// the tensor.
func (e *Errors) Add(numbers, stand []float32, at int) {
	n := min(-at&(sumLanes-1), len(numbers))
	e.plain(numbers[:n], stand[:n], at)
	for end := n + (len(numbers)-n)&^(sumLanes-1); haveIntegers && n < end; {
		to := min(n+block/4, end)
		if !errorsBlock(e, numbers[n:to], stand[n:to]) {
			e.plain(numbers[n:to], stand[n:to], at+n)
		}
		n = to
	}
	e.plain(numbers[n:], stand[n:], at+n)
}

func (e *Errors) plain(numbers, stand []float32, at int) {
	for i, x := range numbers {
		if x-x != 0 {
			continue
		}
		lane := (at + i) % sumLanes
		v := float64(x)
		real := stand[i]
		if x != 0 {
			e.Nonzero++
			if real == 0 {
				e.Zeroed++
			}
		}
		diff := math.Abs(v - float64(real))
		if diff > e.worst[lane] {
			e.worst[lane] = diff
		}
		e.abs[lane] += diff
		// The conversions prevent fused operations, as in the vector loops.
		e.noise[lane] += float64(diff * diff)
		e.signal[lane] += float64(v * v)
	}
}

// Sums returns the largest absolute error, the sum of the absolute errors, and the sums of the
// squares of the errors and of the numbers.
func (e *Errors) Sums() (worst, abs, noise, signal float64) {
	for i := range sumLanes {
		worst = max(worst, e.worst[i])
		abs += e.abs[i]
		noise += e.noise[i]
		signal += e.signal[i]
	}
	return worst, abs, noise, signal
}
