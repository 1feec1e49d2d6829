package vector

import "math"

// Range widens lo to hi, which include 0, by the numbers in src. It reports whether all
// are finite; if not, lo and hi mean nothing.
func Range(src []float32, lo, hi float32) (newLo, newHi float32, finite bool) {
	n := 0
	if haveIntegers {
		n = len(src) &^ (lanes - 1)
	}
	finite = true
	for at := 0; at < n && finite; at += block {
		low, high, nan := rangeBlock(src[at:min(at+block, n)])
		lo, hi = min(lo, low+0), max(hi, high+0) // no negative zero
		finite = !nan && !math.IsInf(float64(lo), 0) && !math.IsInf(float64(hi), 0)
	}
	if !finite {
		return lo, hi, false
	}
	return rangePlain(src[n:], lo, hi)
}

func rangePlain(src []float32, lo, hi float32) (newLo, newHi float32, finite bool) {
	common := uint32(0) // magnitudes up to this one are in the range with either sign
	for _, x := range src {
		if math.Float32bits(x)&^sign32 <= common {
			continue
		}
		switch {
		case x-x != 0:
			return lo, hi, false
		case x < lo:
			lo = x
		case x > hi:
			hi = x
		default:
			continue
		}
		common = math.Float32bits(min(-lo, hi)) &^ sign32
	}
	return lo, hi, true
}

// RangeRow is Range for columns, each of which has one of the numbers in src.
func RangeRow(src, lo, hi []float32) (finite bool) {
	finite = true
	split(src, haveIntegers, false,
		func(i, j int) { finite = rangeRowBlock(src[i:j], lo[i:j], hi[i:j]) && finite },
		func(i, j int) { finite = rangeRowPlain(src[i:j], lo[i:j], hi[i:j]) && finite })
	return finite
}

func rangeRowPlain(src, lo, hi []float32) (finite bool) {
	finite = true
	for i, x := range src {
		switch {
		case x-x != 0:
			finite = false
		case x < lo[i]:
			lo[i] = x
		case x > hi[i]:
			hi[i] = x
		}
	}
	return finite
}

// Steps maps real numbers to integers: multiples of a positive float32 as far as Lo and
// Hi, which are integers of at most 16 bits, plus a zero point.
type Steps struct {
	Inverse float64 // of the float32
	Lo, Hi  float64 // without the zero point
	Zero    float64 // an int32
}

// Integer returns the integer for x: the nearest to its quotient by the float32, ties to
// even, and the zero point more.
//
// The product with the inverse is off by less than 2^-36. A quotient that is not halfway
// between two integers is at least 2^-26 away from there, as both its numbers have 24
// bits. So it may be rounded to a multiple of 2^-30 first, which finds again one that is.
func (s *Steps) Integer(x float32) int32 {
	const snap = 3 << 21  // its unit in the last place is 2^-30
	const whole = 3 << 51 // its unit in the last place is 1: adding it rounds to even
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

// Quantize fills dst with the lowest bytes of the integers for src.
func Quantize(dst []byte, src []float32, s *Steps) {
	split(src, haveIntegers, false,
		func(i, j int) { quantizeBlock(dst[i:j], src[i:j], s) },
		func(i, j int) { quantizePlain(dst[i:j], src[i:j], s) })
}

func quantizePlain(dst []byte, src []float32, s *Steps) {
	for i, x := range src {
		dst[i] = byte(s.Integer(x))
	}
}

// QuantizeRow is Quantize for a row of numbers with steps of their columns.
func QuantizeRow(dst []byte, src []float32, s []Steps) {
	split(src, haveIntegers, false,
		func(i, j int) { quantizeRowBlock(dst[i:j], src[i:j], s[i:j]) },
		func(i, j int) { quantizeRowPlain(dst[i:j], src[i:j], s[i:j]) })
}

func quantizeRowPlain(dst []byte, src []float32, s []Steps) {
	for i, x := range src {
		dst[i] = byte(s[i].Integer(x))
	}
}

// sumLanes is how many elements are added side by side: element i of a tensor to sum i%8,
// so that the sums do not depend on how it is divided.
const sumLanes = 8

// Errors compares numbers with what stands for them. Numbers that are not finite do not count.
type Errors struct {
	worst, abs, noise, signal [sumLanes]float64
	Nonzero, Zeroed           int64 // numbers that are not 0, and those of them for which 0 stands
}

// Add takes the numbers from number at of a tensor on.
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
		lane, v, real := (at+i)%sumLanes, float64(x), stand[i]
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
		e.noise[lane] += float64(diff * diff) // not fused: the bits are those of the vector loops
		e.signal[lane] += float64(v * v)
	}
}

// Sums returns the largest absolute error, the sum of all, and the sums of the squares of
// errors and numbers.
func (e *Errors) Sums() (worst, abs, noise, signal float64) {
	for i := range sumLanes {
		worst = max(worst, e.worst[i])
		abs += e.abs[i]
		noise += e.noise[i]
		signal += e.signal[i]
	}
	return worst, abs, noise, signal
}
