package mobi

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// quantKind is what a parameter says of the quantization of an input.
type quantKind uint8

const (
	notQuant quantKind = iota
	quantScale
	quantZeroPoint
	quantAxis
)

// The endings of the names of such parameters, after "input" and the index.
var quantSuffix = [...]string{quantScale: "_scale", quantZeroPoint: "_zero_point", quantAxis: "_axis"}

// quantParam takes a name like "input1_scale" apart.
func quantParam(param []byte) (input int, kind quantKind) {
	rest, ok := bytes.CutPrefix(param, []byte("input"))
	n := 0
	for ; n < len(rest) && n < 6 && '0' <= rest[n] && rest[n] <= '9'; n++ {
		input = 10*input + int(rest[n]-'0')
	}
	if !ok || n == 0 || n > 1 && rest[0] == '0' {
		return 0, notQuant
	}
	for k := quantScale; k <= quantAxis; k++ {
		if string(rest[n:]) == quantSuffix[k] {
			return input, k
		}
	}
	return 0, notQuant
}

// quantParser turns parameters into tensor.Quantization values. All of them
// are in three slices, whose sizes the survey of the operators found.
type quantParser struct {
	*parser
	graph      []byte
	base       int64
	slots      []quantSlot
	quants     []tensor.Quantization
	scales     []float32
	zeroPoints []int32
}

// quantSlot collects the parameters for one input of an operator.
type quantSlot struct {
	at [quantAxis + 1]uint32 // by kind: position in the graph, 0 for none
}

// quantize gives the constants the parameters their consumers carry.
func (p *parser) quantize(b []byte, s *survey) {
	q := quantParser{
		parser: p, graph: b, base: int64(p.header.GraphOffset),
		slots:      make([]quantSlot, s.inputs),
		quants:     make([]tensor.Quantization, 0, s.quantized),
		scales:     make([]float32, 0, s.scales),
		zeroPoints: make([]int32, 0, s.zeroPoints),
	}
	c := wire.NewCursor(name, b, q.base)
	c.U32("operator count")
	for range s.operators {
		op := nextOp(&c)
		q.operator(&c, &op)
	}
}

// operator reads the parameters of one operator.
func (q *quantParser) operator(c *wire.Cursor, op *rawOp) {
	used := 0
	for range op.params {
		raw := nextParam(c)
		input, kind := quantParam(raw.name)
		if kind == notQuant || input >= min(len(op.inputs)/4, len(q.slots)) {
			continue
		}
		if used == 0 {
			clear(q.slots[:min(len(q.slots), len(op.inputs)/4)])
		}
		used = max(used, input+1)
		q.slots[input].at[kind] = uint32(raw.at - q.base)
	}
	for i, s := range q.slots[:used] {
		if s == (quantSlot{}) {
			continue
		}
		if t, ok := q.lookup(binary.LittleEndian.Uint32(op.inputs[4*i:])); ok {
			q.assign(t, q.build(&s))
		}
	}
}

// assign gives constant i its parameters, or the mark of unsound ones when
// another consumer said something else.
func (q *quantParser) assign(i int, params *tensor.Quantization) {
	known := q.index.Quant(i)
	switch {
	case known == nil:
		q.index.SetQuant(i, params)
	case !known.Equal(params):
		*known = unsound
	}
}

// unsound are the parameters of a constant whose consumers contradict each
// other or themselves: no scales, which Dequantize refuses for any shape.
var unsound = tensor.Quantization{Axis: tensor.PerTensor}

// build makes the parameters that one operator carries for one input.
func (q *quantParser) build(s *quantSlot) *tensor.Quantization {
	q.quants = append(q.quants, tensor.Quantization{Axis: tensor.PerTensor})
	out := &q.quants[len(q.quants)-1]
	scale, zero, axis := q.param(s.at[quantScale]), q.param(s.at[quantZeroPoint]), q.param(s.at[quantAxis])
	switch {
	case scale.typ != paramFloat32 && scale.typ != paramFloat32s,
		zero.name != nil && zero.typ != paramInt32 && zero.typ != paramInt32s,
		axis.name != nil && axis.typ != paramInt32,
		zero.name != nil && len(zero.value) == 0 && len(scale.value) > 0:
		return out
	}
	from := len(q.scales)
	q.scales = appendFloat32s(q.scales, scale.value)
	out.Scales = q.scales[from:len(q.scales):len(q.scales)]
	from = len(q.zeroPoints)
	q.zeroPoints = appendInt32s(q.zeroPoints, zero.value)
	out.ZeroPoints = q.zeroPoints[from:len(q.zeroPoints):len(q.zeroPoints)]
	if axis.name != nil {
		out.Axis = int(int32(binary.LittleEndian.Uint32(axis.value)))
		if out.Axis < 0 {
			out.Axis = math.MinInt32 // PerTensor is -1, which is not an axis in a file
		}
	}
	return out
}

// param reads the parameter at a position in the graph again. Without one its
// name is nil and its type none of the file's.
func (q *quantParser) param(at uint32) rawParam {
	if at == 0 {
		return rawParam{typ: math.MaxUint8}
	}
	c := wire.NewCursor(name, q.graph[at:], q.base+int64(at))
	return nextParam(&c)
}

// sound reports whether constants of that dtype and shape can have these parameters.
func sound(q *tensor.Quantization, d tensor.DType, shape tensor.Shape) bool {
	integer := d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32
	return integer && q.Scheme == tensor.Linear && q.Check(d, shape) == nil
}
