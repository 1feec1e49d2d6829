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
	shape          tensor.Shape // of the decoded tensor
	rows, cols     int64        // of a matrix
	height, width  int64        // of the elements that share a scale
	sRows, sCols   int64        // scales of a matrix
	weight, scales *tensor.Info // the types to decode
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
	if !(n == 1 && l.perRow(n)) && !l.blocks() && !l.perRow(n) && !l.groups() {
		return nil, fmt.Errorf("%w: scales of shape %v do not fit a weight of %v", tensor.ErrShape, scale.Shape, weight.Shape)
	}
	return l, nil
}

// unpack changes the description of MX blocks from bytes to FP4 numbers.
func (l *layout) unpack() error {
	s, k := l.weight.Shape, len(l.weight.Shape)
	if k < 2 || s[k-1] != mxBytes || !slices.Equal(s[:k-1], l.scales.Shape) {
		return fmt.Errorf("%w: blocks of %v with scales of %v; MX has blocks of [..., N, %d] with scales of [..., N]", tensor.ErrShape, s, l.scales.Shape, mxBytes)
	}
	if _, err := (tensor.Shape{s[k-2], 2 * mxBytes}).Elems(); err != nil {
		return err
	}
	l.shape = append(s[:k-2:k-2], s[k-2]*2*mxBytes)
	w := *l.weight
	w.DType, w.Encoding, w.Shape = tensor.Invalid, lowbit.Encoding("F4"), l.shape
	l.weight = &w
	if l.scales.DType == tensor.Uint8 {
		sc := *l.scales
		sc.DType, sc.Encoding = tensor.Invalid, lowbit.Encoding("F8_E8M0")
		l.scales = &sc
	}
	return nil
}

// isNarrow reports whether the elements have a type that is stored with scales.
func isNarrow(i *tensor.Info) bool {
	switch i.DType {
	case tensor.Float8E4M3FN, tensor.Float8E5M2, tensor.Int8:
		return true
	}
	return i.Encoding != nil && lowbit.Encoding(i.Encoding.Name) != nil
}

// isScale reports whether the elements have a type of scales.
func isScale(i *tensor.Info) bool {
	switch i.DType {
	case tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float8E4M3FN:
		return true
	}
	return i.Encoding != nil && lowbit.Type(i.Encoding.Name) == "F8_E8M0"
}

// blocks fits a scale for each block of a matrix.
func (l *layout) blocks() bool {
	w, s, k := l.shape, l.scales.Shape, len(l.shape)
	if k < 2 || len(s) != k || !slices.Equal(s[:k-2], w[:k-2]) || s[k-2] != blocksIn(w[k-2]) || s[k-1] != blocksIn(w[k-1]) {
		return false
	}
	l.rows, l.cols = w[k-2], w[k-1]
	l.height, l.width, l.sRows, l.sCols = blockSide, blockSide, s[k-2], s[k-1]
	l.text = fmt.Sprintf("block scales %dx%d", blockSide, blockSide)
	return true
}

// blocksIn returns the number of blocks along an axis of n elements.
func blocksIn(n int64) int64 { return n/blockSide + min(n%blockSide, 1) }

// perRow fits a scale for each row, or one for all; dims of 1 may follow. A row consists of the
// remaining axes of the weight.
func (l *layout) perRow(scales int64) bool {
	s := l.scales.Shape
	l.text = "a scale for each row"
	if scales == 1 {
		s, l.text = nil, "one scale"
	} else if len(s) > len(l.shape) {
		return false
	}
	for len(s) > 0 && s[len(s)-1] == 1 {
		s = s[:len(s)-1]
	}
	if scales != 1 && (len(s) == 0 || len(s) == len(l.shape)) || !slices.Equal(s, l.shape[:len(s)]) {
		return false
	}
	l.rows, l.cols = 1, 1
	for _, d := range l.shape[len(s):] {
		l.cols *= d
	}
	l.height, l.width, l.sRows, l.sCols = 1, max(l.cols, 1), 1, 1
	return true
}

// groups fits a scale for each group of elements in a row.
func (l *layout) groups() bool {
	w, s, k := l.shape, l.scales.Shape, len(l.shape)
	if k == 0 || len(s) != k || !slices.Equal(s[:k-1], w[:k-1]) || s[k-1] <= 0 || w[k-1]%s[k-1] != 0 {
		return false
	}
	l.rows, l.cols = 1, w[k-1]
	l.height, l.width, l.sRows, l.sCols = 1, max(w[k-1]/s[k-1], 1), 1, s[k-1]
	l.text = fmt.Sprintf("a scale for each %d elements", l.width)
	return true
}

// scaleRow returns the index of the first scale of a row of the weight.
func (l *layout) scaleRow(row int64) int64 {
	return (row/l.rows*l.sRows + row%l.rows/l.height) * l.sCols
}
