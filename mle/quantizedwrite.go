package mle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// mostExact is how many float32 a tensor may have beside quantized ones: a number that no
// other is like takes 41 bytes.
const mostExact = 1 << 20

// asFloats returns the plan as readers of its file see it: quantized tensors are float32.
func asFloats(p *driver.Plan) *driver.Plan {
	out := *p
	out.Tensors = make([]tensor.Info, len(p.Tensors))
	for i, t := range p.Tensors {
		if storable(&t) == nil {
			t.DType, t.Quant = tensor.Float32, nil
			t.Size, _ = t.ByteSize()
		}
		out.Tensors[i] = t
	}
	return &out
}

// storable says why MethodInt8 cannot store a tensor as its parameters have it.
func storable(t *tensor.Info) error {
	q := t.Quant
	switch {
	case q == nil || t.DType != tensor.Int8 && t.DType != tensor.Uint8:
		return fmt.Errorf("%w: %s is not int8 or uint8 with a scale", format.ErrUnsupported, t.TypeName())
	case q.Check(t.DType, t.Shape) != nil:
		return q.Check(t.DType, t.Shape)
	case q.Scheme != tensor.Linear || q.Axis > 0:
		return fmt.Errorf("%w: it has linear scales, along the first axis at most", format.ErrUnsupported)
	}
	for i := range max(len(q.ZeroPoints), 1) {
		if z := zeroByte(t, i); z < 0 || z > 255 {
			return fmt.Errorf("%w: zero point %d", format.ErrUnsupported, q.ZeroPoints[i])
		}
	}
	return nil
}

// zeroByte returns the zero point of a channel as MethodInt8 has it, whose bytes are not signed.
func zeroByte(t *tensor.Info, channel int) int64 {
	z := int64(0)
	if n := len(t.Quant.ZeroPoints); n > 0 {
		z = int64(t.Quant.ZeroPoints[min(channel, n-1)])
	}
	if t.DType == tensor.Int8 {
		z += 128
	}
	return z
}

// quantizedLosses finds what a file with quantized tensors cannot hold beside them.
func quantizedLosses(p *driver.Plan, l *driver.LossList) {
	for i := range p.Tensors {
		t := &p.Tensors[i]
		switch {
		case t.Quant != nil || t.DType == tensor.Float32 && t.Size <= 4*mostExact:
		case t.DType == tensor.Float32:
			l.Fixed(format.LossDType, t.Name, fmt.Errorf("%w: MLE keeps at most %d numbers of a tensor as they are beside quantized ones", format.ErrUnsupported, mostExact))
		default:
			l.Fixed(format.LossDType, t.Name, fmt.Errorf("%w: MLE has nothing but float32 beside quantized tensors, not %s", format.ErrUnsupported, t.TypeName()))
		}
	}
}

// quantizedBody stores tensors in chunks of one scale each.
type quantizedBody struct {
	e      *encoder
	from   []tensor.Info // as they come
	out    appender
	held   []byte // chunks that are not written yet
	chunks []chunk
	floats []byte
	sum    uint32 // of the uncompressed weights
}

func (b *quantizedBody) tensor(i int, in driver.Input) error {
	end := b.e.size
	if i+1 < len(b.e.offsets) {
		end = b.e.offsets[i+1]
	}
	at, t := b.e.offsets[i], &b.from[i]
	pad := int(end-at-b.e.plan.Tensors[i].Size) / 4
	var err error
	if t.Quant != nil {
		err = b.quantized(t, in, at, pad)
	} else {
		err = b.exact(in, at, pad)
	}
	if err != nil {
		return err
	}
	return b.flush()
}

// quantized stores a tensor of one or more channels, and zeros behind it.
func (b *quantizedBody) quantized(t *tensor.Info, in io.Reader, at int64, pad int) error {
	channels, each, flip := len(t.Quant.Scales), int64(0), byte(0)
	if t.DType == tensor.Int8 {
		flip = 128
	}
	if channels > 0 {
		each = t.Size / int64(channels)
	}
	for c := range channels {
		zero := byte(zeroByte(t, c))
		for left := each; left > 0; {
			n := min(left, b.e.o.ChunkSize/4)
			left -= n
			bytes := make([]byte, n)
			if _, err := io.ReadFull(in, bytes); err != nil {
				return err
			}
			for i := range bytes {
				bytes[i] ^= flip
			}
			for ; pad > 0 && left == 0 && c == channels-1; pad-- {
				bytes = append(bytes, zero)
			}
			if err := b.chunk(at, t.Quant.Scales[c], zero, bytes); err != nil {
				return err
			}
			at += 4 * int64(len(bytes))
		}
	}
	return nil
}

// exact stores float32 in chunks of numbers that are 0 or, but for their sign, the scale.
func (b *quantizedBody) exact(in driver.Input, at int64, pad int) error {
	all := make([]byte, in.Size()+4*int64(pad))
	if _, err := io.ReadFull(in, all[:in.Size()]); err != nil {
		return err
	}
	var run []byte
	scale := float32(0)
	put := func() error {
		if scale == 0 {
			scale = 1
		}
		err := b.chunk(at, scale, 1, run)
		at, run, scale = at+4*int64(len(run)), run[:0], 0
		return err
	}
	for ; len(all) > 0; all = all[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(all))
		size := float32(math.Abs(float64(x)))
		switch {
		case !(size <= math.MaxFloat32):
			return fmt.Errorf("%w: MLE has no %v beside quantized tensors", format.ErrQuantization, x)
		case x != 0 && scale != 0 && size != scale:
			if err := put(); err != nil {
				return err
			}
		}
		code := byte(1)
		switch {
		case x > 0:
			scale, code = size, 2
		case x < 0:
			scale, code = size, 0
		}
		run = append(run, code)
	}
	return put()
}

// chunk stores bytes that stand for the uncompressed weights from at on.
func (b *quantizedBody) chunk(at int64, scale float32, zero byte, bytes []byte) error {
	q := quantizer{scale: scale, zero: zero}
	stored := append(q.head(), bytes...)
	if cap(b.floats) < 4*len(bytes) {
		b.floats = make([]byte, 4*len(bytes))
	}
	floats := b.floats[:4*len(bytes)]
	if err := expand(MethodInt8, floats, stored); err != nil {
		return err
	}
	b.sum = tensor.UpdateCRC32(b.sum, floats)
	b.chunks = append(b.chunks, chunk{
		offset: at, size: int64(len(floats)), stored: b.out.pos + int64(len(b.held)), storedSz: int64(len(stored)), checksum: tensor.CRC32(stored),
	})
	if b.held = append(b.held, stored...); len(b.held) < 1<<16 {
		return nil
	}
	return b.flush()
}

func (b *quantizedBody) flush() error {
	_, err := b.out.Write(b.held)
	b.held = b.held[:0]
	return err
}

func (b *quantizedBody) finish() (stored, error) {
	return stored{size: b.out.pos, sum: b.out.sum, original: b.sum, chunks: b.chunks}, nil
}
