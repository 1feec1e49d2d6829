package convert

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

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

// overflows returns how many finite numbers are infinite in data, which are the same
// numbers as elements of d.
func overflows[F float32 | float64](d tensor.DType, data []byte, numbers []F) (n int64) {
	inf, narrow := infinities[d]
	if _, wide := any(numbers).([]float64); !narrow || d == tensor.Float32 && !wide {
		return 0
	}
	size := int(d.Size())
	for at := 0; at < len(data); at += 8 {
		if at+8 <= len(data) && !inf.in(binary.LittleEndian.Uint64(data[at:])) {
			continue
		}
		for i := at; i < min(at+8, len(data)); i += size {
			if x := float64(numbers[i/size]); inf.in(element(data[i:i+size])) && !math.IsInf(x, 0) {
				n++
			}
		}
	}
	return n
}

// in reports whether one of the elements in eight bytes is infinite: taking one from what
// differs from infinity borrows from the sign only where nothing differs.
func (f infinity) in(x uint64) bool {
	x = x&^f.sign ^ f.bits
	return (x-f.ones)&^x&f.sign != 0
}

// element is one element in place of the first of eight bytes; the others are zero.
func element(b []byte) uint64 {
	if len(b) == 2 {
		return uint64(binary.LittleEndian.Uint16(b))
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// overflow is the loss of numbers that are too large for the new dtype of a tensor.
func overflow(it *item, n int64) format.Loss {
	return format.Loss{Kind: format.LossConversion, Name: it.to.Name, Acceptable: true,
		Why: fmt.Sprintf("%d numbers that are too large for %v become infinite", n, it.to.DType)}
}

// mayOverflow reports whether such a loss is accepted, and whether it is to be reported.
func (j *job) mayOverflow(it *item) (accepted, reported bool) {
	named := slices.Contains(j.o.AcceptLoss, string(format.LossConversion)) || slices.Contains(j.o.AcceptLoss, overflow(it, 0).Item())
	return named || j.o.Lossy, !named
}
