package mle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// mostExact is the largest number of elements of a float32 tensor next to quantized
// ones: a number that differs from its neighbors takes 41 bytes.
const mostExact = 1 << 20

// asFloats returns the schema that readers of the file see: quantized tensors are float32.
func asFloats(p *schema.Schema) *schema.Schema {
	out := *p
	out.Tensors = slices.Clone(p.Tensors)
	for i := range out.Tensors {
		t := &out.Tensors[i]
		if !storable(t) {
			continue
		}
		t.DType = tensor.Float32
		t.Quant = nil
		t.Size, _ = t.ByteSize()
	}
	return &out
}

// storable reports whether MethodInt8 can store a tensor with its quantization parameters:
// int8 or uint8 with linear scales, along the first axis at most.
func storable(t *tensor.Info) bool {
	q := t.Quant
	if q == nil || t.DType != tensor.Int8 && t.DType != tensor.Uint8 {
		return false
	}
	if q.Scheme != tensor.Linear || q.Axis > 0 || q.Check(t.DType, t.Shape) != nil {
		return false
	}
	for i := range q.ZeroPoints {
		b := zeroByte(t, i)
		if b < 0 || b > 255 {
			return false
		}
	}
	return true
}

// zeroByte returns the zero point of a channel for MethodInt8, whose bytes are unsigned.
func zeroByte(t *tensor.Info, channel int) int64 {
	z := int64(0)
	n := len(t.Quant.ZeroPoints)
	if n > 0 {
		z = int64(t.Quant.ZeroPoints[min(channel, n-1)])
	}
	if t.DType == tensor.Int8 {
		z += 128
	}
	return z
}

// quantizedLosses lists the tensors that a file with quantized tensors cannot hold.
func quantizedLosses(p *schema.Schema, l *schema.LossList) {
	for i := range p.Tensors {
		t := &p.Tensors[i]
		switch {
		case t.Quant != nil || t.DType == tensor.Float32 && t.Size <= 4*mostExact:
		case t.DType == tensor.Float32:
			l.Fixed(schema.LossDType, t.Name, fmt.Errorf(
				"%w: next to quantized tensors MLE stores float32 tensors of at most %d elements",
				format.ErrUnsupported, mostExact))
		default:
			l.Fixed(schema.LossDType, t.Name, fmt.Errorf(
				"%w: next to quantized tensors MLE stores only float32, not %s", format.ErrUnsupported,
				t.TypeName()))
		}
	}
}

// quantizedWeights stores tensors in chunks of one scale each.
type quantizedWeights struct {
	*encoder
}

func (w *quantizedWeights) Tensor(i int, in driver.Input) error {
	at := w.offsets[i]
	t := &w.from[i]
	pad := len(w.pad(i)) / 4
	if t.Quant == nil {
		return w.exact(in, at, pad)
	}
	flip := byte(0)
	if t.DType == tensor.Int8 {
		flip = 128
	}
	channels := len(t.Quant.Scales)
	for c, scale := range t.Quant.Scales {
		zero := byte(zeroByte(t, c))
		left := t.Size / int64(channels)
		for left > 0 {
			b := make([]byte, min(left, w.o.ChunkSize/4))
			_, err := io.ReadFull(in, b)
			if err != nil {
				return err
			}
			for i := range b {
				b[i] ^= flip
			}
			left -= int64(len(b))
			if left == 0 && c == channels-1 {
				b = append(b, bytes.Repeat([]byte{zero}, pad)...)
			}
			err = w.chunk(&at, scale, zero, b)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// exact stores float32 numbers in chunks. Every number of a chunk is 0, the scale, or the
// negated scale.
func (w *quantizedWeights) exact(in driver.Input, at int64, pad int) error {
	all := make([]byte, in.Size()+4*int64(pad))
	_, err := io.ReadFull(in, all[:in.Size()])
	if err != nil {
		return err
	}
	floats, _ := floatsOf(all)
	for len(floats) > 0 {
		scale, codes := exactCodes(floats)
		if len(codes) == 0 {
			return fmt.Errorf("%w: next to quantized tensors MLE cannot store %v",
				format.ErrQuantization, floats[0])
		}
		err := w.chunk(&at, scale, 1, codes)
		if err != nil {
			return err
		}
		floats = floats[len(codes):]
	}
	return nil
}

// exactCodes returns the scale and the codes of the first numbers that a chunk can hold, with zero
// point 1.
func exactCodes(floats []float32) (scale float32, codes []byte) {
	for _, x := range floats {
		size := float32(math.Abs(float64(x)))
		if !(size <= math.MaxFloat32) || x != 0 && scale != 0 && size != scale {
			break
		}
		scale = max(scale, size)
		codes = append(codes, byte(1+cmp.Compare(x, 0)))
	}
	return cmp.Or(scale, 1), codes
}

// chunk stores the bytes of the weights at offset at, and advances at.
func (w *quantizedWeights) chunk(at *int64, scale float32, zero byte, b []byte) error {
	b = append(int8Header(scale, zero), b...)
	size := 4 * int64(len(b)-int8Head)
	err := codecs.DataTo(&w.out.original, approximation(MethodInt8), b, size, nil)
	if err != nil {
		return err
	}
	err = w.out.chunk(*at, b)
	*at += size
	return err
}
