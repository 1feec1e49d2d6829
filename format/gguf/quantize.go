package gguf

import (
	"fmt"

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
			return inexpressible(src[n:][:e.BlockElems])
		}
		return nil
	}
	return &e
}()

// inexpressible says why Q8_0 has no block for the numbers in src.
func inexpressible(src []float32) error {
	most := float32(0)
	for _, x := range src {
		if x-x != 0 {
			return fmt.Errorf("%w: it holds %v, which Q8_0 cannot express", tensor.ErrQuantization, x)
		}
		most = max(most, x, -x)
	}
	return fmt.Errorf("%w: %g is too large for Q8_0", tensor.ErrQuantization, most)
}
