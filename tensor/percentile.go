package tensor

import "math"

// orderKey maps numbers to integers with the same order.
func orderKey(x float32) uint32 {
	b := math.Float32bits(x)
	return b ^ (uint32(int32(b)>>31) | sign32)
}

// keyValue is the inverse of orderKey.
func keyValue(k uint32) float32 {
	return math.Float32frombits(k ^ (uint32(int32(^k)>>31) | sign32))
}

// clip narrows the range of each channel to the requested percentile.
func (z *Quantizer) clip() {
	if len(z.all) == 0 {
		return
	}
	inner := int(min(runsFrom(0, z.channels, z.axis, z.shape).inner, int64(len(z.all))))
	keys := make([]uint32, len(z.all)/z.channels) // one channel's
	for c := range z.lo {
		pick := func(percent float64) float32 {
			out := keys[:0]
			for i := c * inner; i < len(z.all); i += inner * z.channels {
				for _, x := range z.all[i : i+inner] {
					if !z.o.Asymmetric {
						x = max(x, -x)
					}
					out = append(out, orderKey(x))
				}
			}
			return keyValue(selectKey(out, rank(percent, len(out))))
		}
		var lo, hi float32
		if tail := (100 - z.o.Percentile) / 2; z.o.Asymmetric {
			lo, hi = min(pick(tail), 0), max(pick(100-tail), 0)
		} else {
			hi = pick(z.o.Percentile)
			lo = -hi
		}
		if lo < hi { // otherwise all are 0
			z.lo[c], z.hi[c] = lo, hi
		}
	}
	z.all = nil
}

// rank returns the index of the given percentile in n sorted values, by the nearest-rank
// method.
func rank(percent float64, n int) int {
	k := int(math.Ceil(percent / 100 * float64(n)))
	return min(max(k, 1), n) - 1
}

// selectKey returns the k-th smallest key, counted from 0, in linear time. It overwrites
// keys.
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
		// Only keys with this digit remain; the lower digits decide.
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
