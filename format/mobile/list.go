package mobile

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/internal/wire"
)

// Flags of TensorList.
const (
	listZeroCopy  = 1 << iota // Address points into the file's own memory
	listQuantized             // the elements stand for other real numbers
)

// Shape returns the dims, outermost first, as text: "1,28,28". It is empty for a scalar.
func (t *Tensor) Shape() string {
	dims := fmt.Sprint([]int64(t.view.Shape())) // "[1 28 28]"
	return strings.ReplaceAll(dims[1:len(dims)-1], " ", ",")
}

// TensorList describes all tensors at once, in file order: one call for each would take
// longer than opening the model. It is empty for an empty model and stays readable after
// Close, when no tensor is ZeroCopy any more. WeightFile in Java and Swift decodes it.
//
// A tensor is encoded as name, dtype and compression, each a length in bytes followed by
// UTF-8; the rank and the dims; the number of elements; the number of bytes; the offset in
// the file; and flags, 1 for ZeroCopy plus 2 for Quantized. All numbers are little-endian
// int64, without padding.
func (m *Model) TensorList() []byte {
	var b wire.Buffer
	for i := range m.TensorCount() {
		v := m.m.At(int(i))
		info := v.Info()
		for _, text := range []string{m.TensorName(i), info.DType.String(), info.Compression} {
			b.I64(int64(len(text)))
			b.Str(text)
		}
		b.I64(int64(len(info.Shape)))
		for _, d := range info.Shape {
			b.I64(d)
		}
		b.I64(v.Elems())
		b.I64(info.Size)
		b.I64(info.Offset)
		var flags int64
		if v.ZeroCopy() {
			flags |= listZeroCopy
		}
		if info.Quant != nil {
			flags |= listQuantized
		}
		b.I64(flags)
	}
	return b
}
