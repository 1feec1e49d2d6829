package tensor

import "math"

// clip narrows the range of each channel to the percentile asked for.
func (z *Quantizer) clip(ranges []valueRange) {
	if len(z.all) == 0 {
		return
	}
	inner := int(min(runsFrom(0, z.channels, z.axis, z.shape).inner, int64(len(z.all))))
	keys := make([]uint32, len(z.all)/len(ranges)) // of one channel
	for c := range ranges {
		pick := func(percent float64, mask uint32) float32 {
			out := keys[:0]
			for i := c * inner; i < len(z.all); i += inner * len(ranges) {
				for _, x := range z.all[i : i+inner] {
					// Flipping the top bit makes the signed key an unsigned one.
					out = append(out, uint32(orderKey(math.Float32bits(x)&mask))^sign32)
				}
			}
			return keyValue(int32(selectKey(out, rank(percent, len(out))) ^ sign32))
		}
		var to valueRange
		if tail := (100 - z.o.Percentile) / 2; z.o.Asymmetric {
			to = valueRange{min(pick(tail, ^uint32(0)), 0), max(pick(100-tail, ^uint32(0)), 0)}
		} else {
			to.hi = pick(z.o.Percentile, ^uint32(sign32))
			to.lo = -to.hi
		}
		if to.lo < to.hi { // else it is nothing but 0
			ranges[c] = to
		}
	}
	z.all = nil
}

// rank returns which of n sorted values, from 0, has percent of them up to and
// including it, by the nearest-rank rule.
func rank(percent float64, n int) int {
	k := int(math.Ceil(percent / 100 * float64(n)))
	return min(max(k, 1), n) - 1
}

// selectKey returns the k-th smallest key, from 0, in time linear in their
// number whatever their order, which sorting would not. It overwrites keys.
func selectKey(keys []uint32, k int) uint32 {
	for shift := 24; ; shift -= 8 {
		var count [256]int
		for _, x := range keys {
			count[x>>shift&0xff]++
		}
		digit := uint32(0)
		for ; k >= count[digit]; digit++ {
			k -= count[digit]
		}
		// Keep those that share the digit; the next ones decide.
		kept := keys[:0]
		for _, x := range keys {
			if x>>shift&0xff == digit {
				kept = append(kept, x)
			}
		}
		if shift == 0 {
			return kept[0]
		}
		keys = kept
	}
}
