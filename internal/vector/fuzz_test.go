package vector

import (
	"hash/adler32"
	"math"
	"testing"
)

// FuzzTwins compares every routine with its Go version, over bytes and with parameters
// as a hostile file may have them.
func FuzzTwins(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, src, dst uint8, scale, last uint32, zero, end int32, width uint16) {
		at := where{int(src % 64), int(dst % 16)}
		// A row between two scales and two zero points.
		scales, zeros := make([]float32, int(width%2048)+1), make([]int32, int(width%2048)+1)
		for i := range scales {
			scales[i], zeros[i] = math.Float32frombits(scale), zero
		}
		scales[len(scales)/2], zeros[len(zeros)/2] = math.Float32frombits(last), end
		for _, k := range []Kind{Int8, Uint8} {
			linearConversion("linear", k, scales[0], zero).compare(t, data, len(data), at)
			rowConversion("rows", k, scales, zeros).compare(t, data, len(data), at)
			rowConversion("rows, one zero point", k, scales, zeros[:1]).compare(t, data, len(data), at)
		}
		for _, k := range []Kind{Int16, Uint16} {
			linearConversion("linear16", k, scales[0], zero).compare(t, data, len(data)/2, at)
		}
		for _, c := range []conversion{
			{"float16", 2, Float16, float16Plain}, {"bfloat16", 2, BFloat16, bfloat16Plain},
			{"float64", 8, Float64, Numbers[float64, float32]}, {"int32", 4, Int32, Numbers[int32, float32]},
		} {
			c.compare(t, data, len(data)/c.size, at)
		}
		compareEncoders(t, data, at)
		if got, want := Adler32(1, data), adler32.Checksum(data); got != want {
			t.Errorf("Adler-32 %#x, want %#x", got, want)
		}
	})
}
