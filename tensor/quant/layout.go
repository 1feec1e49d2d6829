package quant

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

const (
	blockSide = 128 // of the blocks of FP8 weights
	mxBytes   = 16  // of a group of MX
)

// layout maps elements to scales. The weight is a list of matrices of rows times cols elements.
type layout struct {
	// shape is that of the decoded tensor.
	shape tensor.Shape
	// rows and cols are those of a matrix, height and width those of the elements that share a
	// scale, and sRows and sCols those of the scales of a matrix.
	rows, cols, height, width, sRows, sCols int64
	// weight and scales are the types to decode.
	weight, scales *tensor.Info
	text           string
}

// layoutOf returns the layout that fits the two tensors, or an error.
func layoutOf(weight, scale *tensor.Info) (*layout, error) {
	l := &layout{shape: weight.Shape, weight: weight, scales: scale}
	if weight.DType == tensor.Uint8 {
		if err := l.unpack(); err != nil {
			return nil, err
		}
	}
	switch {
	case weight.Quant != nil || scale.Quant != nil:
		return nil, fmt.Errorf("%w: a tensor already has quantization parameters", tensor.ErrQuantization)
	case !isNarrow(l.weight):
		return nil, fmt.Errorf("%w: %s elements do not have scales in another tensor", tensor.ErrDType, l.weight.TypeName())
	case !isScale(l.scales):
		return nil, fmt.Errorf("%w: %s elements cannot be scales", tensor.ErrDType, l.scales.TypeName())
	}
	if _, err := l.shape.ByteSize(tensor.Float32); err != nil {
		return nil, err
	}
	n, err := scale.Shape.Elems()
	if err != nil {
		return nil, err
	}
	if !l.fit(n) {
		return nil, fmt.Errorf("%w: scales of shape %v do not fit a weight of %v", tensor.ErrShape, scale.Shape, weight.Shape)
	}
	return l, nil
}

// unpack changes the description of MX blocks from bytes to FP4 numbers.
func (l *layout) unpack() error {
	s := l.weight.Shape
	k := len(l.weight.Shape)
	if k < 2 || s[k-1] != mxBytes || !slices.Equal(s[:k-1], l.scales.Shape) {
		return fmt.Errorf("%w: blocks of %v with scales of %v; MX has blocks of [..., N, %d] with scales of [..., N]", tensor.ErrShape, s, l.scales.Shape, mxBytes)
	}
	if _, err := (tensor.Shape{s[k-2], 2 * mxBytes}).Elems(); err != nil {
		return err
	}
	l.shape = append(s[:k-2:k-2], s[k-2]*2*mxBytes)
	w := *l.weight
	w.DType = tensor.Invalid
	w.Encoding = lowbit.Encoding("F4")
	w.Shape = l.shape
	l.weight = &w
	if l.scales.DType == tensor.Uint8 {
		sc := *l.scales
		sc.DType = tensor.Invalid
		sc.Encoding = lowbit.Encoding("F8_E8M0")
		l.scales = &sc
	}
	return nil
}

// isNarrow reports whether the elements have a type that is stored with scales.
func isNarrow(i *tensor.Info) bool {
	known := []tensor.DType{tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.Int8}
	return slices.Contains(known, i.DType) || i.Encoding != nil && lowbit.Encoding(i.Encoding.Name) != nil
}

// isScale reports whether the elements have a type of scales.
func isScale(i *tensor.Info) bool {
	known := []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float8E4M3FN}
	return slices.Contains(known, i.DType) || i.Encoding != nil && lowbit.Type(i.Encoding.Name) == "F8_E8M0"
}

// fit finds the elements that share one of n scales. A row consists of the axes that the scales
// lack; dims of 1 do not count.
func (l *layout) fit(n int64) bool {
	w := l.shape
	s := l.scales.Shape
	k := len(l.shape)
	axes := len(s) // without dims of 1 at the end
	for axes > 0 && s[axes-1] == 1 {
		axes--
	}
	l.rows = 1
	l.height = 1
	l.sRows = 1
	l.sCols = 1
	switch {
	case n == 1:
		l.cols, _ = w.Elems()
		l.text = "one scale"
	case k >= 2 && len(s) == k && slices.Equal(s[:k-2], w[:k-2]) && s[k-2] == blocksIn(w[k-2]) && s[k-1] == blocksIn(w[k-1]):
		l.rows = w[k-2]
		l.cols = w[k-1]
		l.sRows = s[k-2]
		l.sCols = s[k-1]
		l.height = blockSide
		l.width = blockSide
		l.text = fmt.Sprintf("block scales %dx%d", blockSide, blockSide)
		return true
	case axes > 0 && axes < k && len(s) <= k && slices.Equal(s[:axes], w[:axes]):
		l.cols, _ = w[axes:].Elems()
		l.text = "a scale for each row"
	case k > 0 && len(s) == k && slices.Equal(s[:k-1], w[:k-1]) && s[k-1] > 0 && w[k-1]%s[k-1] == 0:
		l.cols = w[k-1]
		l.sCols = s[k-1]
		l.text = fmt.Sprintf("a scale for each %d elements", max(l.cols/l.sCols, 1))
	default:
		return false
	}
	l.width = max(l.cols/l.sCols, 1)
	return true
}

// blocksIn returns the number of blocks along an axis of n elements.
func blocksIn(n int64) int64 { return n/blockSide + min(n%blockSide, 1) }

// scaleRow returns the index of the first scale of a row of the weight.
func (l *layout) scaleRow(row int64) int64 {
	return (row/l.rows*l.sRows + row%l.rows/l.height) * l.sCols
}
