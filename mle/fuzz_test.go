package mle

import (
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
)

// The targets below fuzz the weights section of each method, in one piece and in chunks,
// in an otherwise valid file.

func FuzzLZ4Weights(f *testing.F)     { fuzzWeights(f, MethodLZ4) }
func FuzzZstdWeights(f *testing.F)    { fuzzWeights(f, MethodZstd) }
func FuzzBrotliWeights(f *testing.F)  { fuzzWeights(f, MethodBrotli) }
func FuzzInt8Weights(f *testing.F)    { fuzzWeights(f, MethodInt8) }
func FuzzFloat16Weights(f *testing.F) { fuzzWeights(f, MethodFloat16) }

func fuzzWeights(f *testing.F, m Method) {
	plain := plainGolden().weights
	for _, b := range [][]byte{plain, make([]byte, len(plain)), plain[:64]} {
		packed, _, err := compress(m, b, 6)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, uint64(72), uint64(64))
	}
	f.Fuzz(func(t *testing.T, packed []byte, size, cut uint64) {
		whole := compressedGolden(m, packed)
		le.PutUint64(whole.comp[4:], size)
		chunked := plainGolden()
		chunked.flags = 1 | 0x40
		n := min(uint64(len(packed)), cut)
		chunked.comp, chunked.weights = chunkTable(compHeader(uint8(m), 1, 72, 0, 0), gChunk{0, packed[:n]}, gChunk{cut, packed[n:]})
		for _, g := range []*gFile{whole, chunked} {
			m, err := openBytes(g.build(), nil)
			if err != nil {
				continue
			}
			formattest.Walk(m.Model)
			m.Close()
		}
	})
}
