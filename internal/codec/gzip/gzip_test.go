package gzip

import (
	"math/rand/v2"
	"testing"
)

// TestUnevenBytes checks that the default level compresses bytes that do not repeat but have an
// uneven distribution, such as quantized weights.
func TestUnevenBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	src := make([]byte, 100_000)
	for i := range src {
		src[i] = byte(int8(max(-127, min(127, r.NormFloat64()*30))))
	}
	out, err := Codec.Compress(src, 0)
	if err != nil || len(out) > 93_000 {
		t.Errorf("%d bytes of normal int8 take %d, %v", len(src), len(out), err)
	}
}
