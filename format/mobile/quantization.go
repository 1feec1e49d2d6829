package mobile

import (
	"cmp"

	"github.com/weightmap/weightmap/tensor"
)

// plain stands for the parameters of plain tensors.
var plain = &tensor.Quantization{Axis: tensor.PerTensor}

func (t *Tensor) quant() *tensor.Quantization {
	return cmp.Or(t.view.Info().Quant, plain)
}

// Quantized reports whether the stored elements stand for other real numbers:
// real = (stored - zero point) * scale for the scheme "linear". Float32At,
// CopyFloat32To and Float32Bytes apply it. The parameters are those of the file, unchecked;
// where they are invalid, these methods fail with CodeQuantization.
func (t *Tensor) Quantized() bool { return t.quant() != plain }

// QuantScheme returns "linear" or "logarithmic". It is empty for plain tensors.
func (t *Tensor) QuantScheme() string {
	if !t.Quantized() {
		return ""
	}
	return t.quant().Scheme.String()
}

// QuantAxis returns the axis of the channels. It is -1 when all elements share one scale,
// and for plain tensors.
func (t *Tensor) QuantAxis() int64 { return int64(t.quant().Axis) }

// QuantCount returns the number of scales: one, one for each channel, or 0 for
// plain tensors.
func (t *Tensor) QuantCount() int64 { return int64(len(t.quant().Scales)) }

// QuantScale returns the scale of a channel. It is 0 for one that does not exist.
func (t *Tensor) QuantScale(channel int64) float32 { return at(t.quant().Scales, channel) }

// QuantZeroPoint returns the zero point of a channel. It is 0 for one that does not
// exist.
func (t *Tensor) QuantZeroPoint(channel int64) int32 {
	zeros := t.quant().ZeroPoints
	switch {
	case channel >= t.QuantCount():
		return 0
	case len(zeros) == 1: // one for all channels
		channel = min(channel, 0)
	}
	return at(zeros, channel)
}

// at returns an element of a list, or the zero value if the index does not exist.
func at[T any](list []T, index int64) (x T) {
	if index < 0 || index >= int64(len(list)) {
		return x
	}
	return list[index]
}
