package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

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
		for len(src) > 0 {
			if err := encodeQ8_0(dst[:e.BlockBytes], src[:e.BlockElems]); err != nil {
				return err
			}
			dst, src = dst[e.BlockBytes:], src[e.BlockElems:]
		}
		return nil
	}
	return &e
}()

// encodeQ8_0 makes one block as the reference computes it: the scale is a 127th of the
// largest, and halves are rounded away from zero.
func encodeQ8_0(dst []byte, src []float32) error {
	most := float32(0)
	for _, x := range src {
		a := float32(math.Abs(float64(x)))
		if a != a || a > most {
			most = a
		}
		if most != most || math.IsInf(float64(most), 0) {
			return fmt.Errorf("%w: it holds %v, which Q8_0 cannot express", tensor.ErrQuantization, x)
		}
	}
	scale := most / 127
	stored := tensor.F16From(scale)
	if math.IsInf(float64(stored.Float32()), 0) {
		return fmt.Errorf("%w: %g is too large for Q8_0", tensor.ErrQuantization, most)
	}
	inverse := float32(0)
	if stored != 0 {
		inverse = 1 / scale
	}
	binary.LittleEndian.PutUint16(dst, uint16(stored))
	for i, x := range src {
		dst[2+i] = byte(int8(math.Round(float64(x * inverse))))
	}
	return nil
}
