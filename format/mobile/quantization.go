package mobile

import "github.com/weightmap/weightmap/tensor"

// Quantized reports whether the stored elements stand for other real numbers:
// real = (stored - zero point) * scale for the scheme "linear". Float32At,
// CopyFloat32To and Float32Bytes apply it. The parameters are those of the file, unchecked;
// where they are invalid, these methods fail with CodeQuantization.
func (t *Tensor) Quantized() bool { return t.view.Info().Quant != nil }

// QuantScheme returns "linear" or "logarithmic". It is empty for plain tensors.
func (t *Tensor) QuantScheme() string {
	if q := t.view.Info().Quant; q != nil {
		return q.Scheme.String()
	}
	return ""
}

// QuantAxis returns the axis of the channels. It is -1 when all elements share one scale,
// and for plain tensors.
func (t *Tensor) QuantAxis() int64 {
	if q := t.view.Info().Quant; q != nil {
		return int64(q.Axis)
	}
	return tensor.PerTensor
}

// QuantCount returns the number of scales: one, one for each channel, or 0 for
// plain tensors.
func (t *Tensor) QuantCount() int64 {
	if q := t.view.Info().Quant; q != nil {
		return int64(len(q.Scales))
	}
	return 0
}

// QuantScale returns the scale of a channel. It is 0 for one that does not exist.
func (t *Tensor) QuantScale(channel int64) float32 {
	if channel < 0 || channel >= t.QuantCount() {
		return 0
	}
	return t.view.Info().Quant.Scales[channel]
}

// QuantZeroPoint returns the zero point of a channel. It is 0 for one that does not
// exist.
func (t *Tensor) QuantZeroPoint(channel int64) int32 {
	if channel < 0 || channel >= t.QuantCount() {
		return 0
	}
	zeros := t.view.Info().Quant.ZeroPoints
	switch {
	case len(zeros) == 1: // one for all channels
		return zeros[0]
	case channel < int64(len(zeros)):
		return zeros[channel]
	}
	return 0
}
