package tensor

import "github.com/cespare/xxhash/v2"

// XXH64 returns the 64-bit xxHash of p with seed 0; of no bytes it is
// 0xef46db3751d8e999. It finds equal data quickly and catches damage, but does
// not withstand an adversary.
func XXH64(p []byte) uint64 { return xxhash.Sum64(p) }
