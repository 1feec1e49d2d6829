package tensor

import "math"

// clipRanges narrows the range of each channel to the percentile asked for.
// All values are finite.
func clipRanges(ranges []valueRange, src []float32, inner int, o QuantizeOptions) {
	if len(src) == 0 {
		return
	}
	stride := inner * len(ranges)
	keys := make([]uint32, len(src)/len(ranges)) // of one channel
	for c := range ranges {
		gather := func(mask uint32) {
			out := keys[:0]
			for i := c * inner; i < len(src); i += stride {
				for _, x := range src[i : i+inner] {
					// Flipping the top bit makes the signed key an unsigned one.
					out = append(out, uint32(orderKey(math.Float32bits(x)&mask))^sign32)
				}
			}
		}
		pick := func(percent float64) float32 {
			return keyValue(int32(selectKey(keys, rank(percent, len(keys))) ^ sign32))
		}
		if !o.Asymmetric {
			gather(^uint32(sign32))
			a := pick(o.Percentile)
			narrowRange(&ranges[c], valueRange{-a, a})
			continue
		}
		tail := (100 - o.Percentile) / 2
		gather(^uint32(0))
		lo := pick(tail)
		gather(^uint32(0)) // the selection moved them
		narrowRange(&ranges[c], valueRange{min(lo, 0), max(pick(100-tail), 0)})
	}
}

// narrowRange sets r unless to is nothing but 0.
func narrowRange(r *valueRange, to valueRange) {
	if to.lo < to.hi {
		*r = to
	}
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
