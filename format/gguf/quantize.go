package gguf

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// Q8_0 returns the encoding of blocks of 32 int8 with a float16 scale, the one that this
// package can also make: tensor.QuantizeOptions takes it. A file of such tensors says which
// version of the blocks they are, unless its metadata does.
func Q8_0() *tensor.Encoding { return q8_0 }

// q8_0 is not what readers of files return: a copy of these says what they say.
var q8_0 = func() *tensor.Encoding {
	e := *elementTypes[codeQ8_0].encoding
	e.Encode = func(dst []byte, src []float32) error {
		if err := wholeBlocks(&e, len(src), len(dst)); err != nil {
			return err
		}
		if n := vector.EncodeQ8(dst, src) * int(e.BlockElems); n < len(src) {
			most := 0.0 // or a NaN
			for _, x := range src[n:][:e.BlockElems] {
				most = max(most, math.Abs(float64(x)))
			}
			return fmt.Errorf("%w: Q8_0 cannot express %v", tensor.ErrQuantization, most)
		}
		return nil
	}
	return &e
}()
