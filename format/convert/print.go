package convert

import (
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options without keys, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Write", o.Write, "Lossy", o.Lossy, "Keep", o.Keep != nil,
		"Rename", o.Rename != nil,
		"JoinScales", o.JoinScales, "DType", uint8(o.DType), "Quantize", o.Quantize != nil,
		"QuantizeOnly", o.QuantizeOnly != nil,
		"Verify", o.Verify, "DryRun", o.DryRun, "Read", o.Read)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes how much there is to report, on one line.
func (r Report) String() string {
	return oneline.Struct("Report", "Format", r.Format, "Files", r.Files, "Losses", len(r.Losses),
		"Kept", len(r.Kept),
		"Quantized", len(r.Quantized), "Stayed", len(r.Stayed), "Packed", len(r.Packed), "Warnings",
		r.Warnings)
}

// GoString implements fmt.GoStringer like String.
func (r Report) GoString() string { return r.String() }

// LogValue implements slog.LogValuer like String.
func (r Report) LogValue() slog.Value { return slog.StringValue(r.String()) }
