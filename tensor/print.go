package tensor

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes name, type and shape, and the quantization, on one line.
func (i Info) String() string {
	text := fmt.Sprintf("%q %s %v", i.Name, i.TypeName(), i.Shape)
	if len(i.Name) > 100 {
		text = fmt.Sprintf("%s %s %v", oneline.Text(i.Name), i.TypeName(), i.Shape)
	}
	if i.Quant != nil {
		text += ", " + i.Quant.String()
	}
	return text
}

// GoString implements fmt.GoStringer like String.
func (i Info) GoString() string { return i.String() }

// LogValue implements slog.LogValuer like String.
func (i Info) LogValue() slog.Value { return slog.StringValue(i.String()) }

// String describes the scheme and how many scales there are, on one line.
func (q Quantization) String() string {
	if len(q.Scales) == 1 {
		return fmt.Sprintf("%v, scale %v, zero point %d", q.Scheme, q.Scales[0], q.zeroPoint(0))
	}
	return fmt.Sprintf("%v, %d scales along axis %d", q.Scheme, len(q.Scales), q.Axis)
}

// GoString implements fmt.GoStringer like String.
func (q Quantization) GoString() string { return q.String() }

// LogValue implements slog.LogValuer like String.
func (q Quantization) LogValue() slog.Value { return slog.StringValue(q.String()) }

// GoString implements fmt.GoStringer like String.
func (s Shape) GoString() string { return s.String() }

// LogValue implements slog.LogValuer like String.
func (s Shape) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String describes the shape, on one line.
func (z *Quantizer) String() string {
	if z == nil {
		return "no quantizer"
	}
	return fmt.Sprintf("quantizer to %s of shape %v", z.info.TypeName(), z.info.Shape)
}

// GoString implements fmt.GoStringer like String.
func (z *Quantizer) GoString() string { return z.String() }

// LogValue implements slog.LogValuer like String.
func (z *Quantizer) LogValue() slog.Value { return slog.StringValue(z.String()) }
