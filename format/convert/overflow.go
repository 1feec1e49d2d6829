package convert

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// infinity is how a narrower type writes it: the bits of an element but the sign.
type infinity struct {
	bits, sign uint64 // of each of the elements in eight bytes
	ones       uint64 // the lowest bit of each
}

// infinities has the types that numbers may be too large for.
var infinities = map[tensor.DType]infinity{
	tensor.Float16:  {0x7c00_7c00_7c00_7c00, 0x8000_8000_8000_8000, 0x0001_0001_0001_0001},
	tensor.BFloat16: {0x7f80_7f80_7f80_7f80, 0x8000_8000_8000_8000, 0x0001_0001_0001_0001},
	tensor.Float32:  {0x7f80_0000_7f80_0000, 0x8000_0000_8000_0000, 0x0000_0001_0000_0001},
}

// narrowed counts what becomes of numbers in data, which are the same numbers as elements of d.
func narrowed[F float32 | float64](d tensor.DType, data []byte, numbers []F) (t tally) {
	inf, narrow := infinities[d]
	if _, wide := any(numbers).([]float64); !narrow || d == tensor.Float32 && !wide {
		return t
	}
	nothing := inf
	nothing.bits = 0
	t.nonzero = int64(len(numbers))
	size := int(d.Size())
	for at := 0; at < len(data); at += 8 {
		if at+8 <= len(data) {
			if x := binary.LittleEndian.Uint64(data[at:]); !inf.in(x) && !nothing.in(x) {
				continue
			}
		}
		for i := at; i < min(at+8, len(data)); i += size {
			switch x, e := float64(numbers[i/size]), element(data[i:i+size], inf); {
			case inf.in(e) && !math.IsInf(x, 0):
				t.lost++
			case x == 0:
				t.nonzero--
			case nothing.in(e):
				t.zeroed++
			}
		}
	}
	return t
}

// in reports whether one of the elements in eight bytes is infinite: taking one from what
// differs from infinity borrows from the sign only where nothing differs.
func (f infinity) in(x uint64) bool {
	x = x&^f.sign ^ f.bits
	return (x-f.ones)&^x&f.sign != 0
}

// element is one element in all places of eight bytes.
func element(b []byte, f infinity) uint64 {
	if len(b) == 2 {
		return uint64(binary.LittleEndian.Uint16(b)) * f.ones
	}
	return uint64(binary.LittleEndian.Uint32(b)) * f.ones
}

// overflow is the loss of numbers that are too large for the new dtype of a tensor.
func overflow(it *item, n int64) format.Loss {
	return format.Loss{Kind: format.LossConversion, Name: it.to.Name, Acceptable: true,
		Why: fmt.Sprintf("%d numbers that are too large for %v become infinite", n, it.to.DType)}
}

// mayOverflow reports whether such a loss is accepted, and whether it is to be reported.
func (j *job) mayOverflow(it *item) (accepted, reported bool) { return j.accepts(overflow(it, 0)) }
