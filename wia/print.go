package wia

import (
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options, on one line.
func (f Format) String() string {
	return oneline.Struct("Format", "CompressTensor", f.CompressTensor != nil)
}

// GoString implements fmt.GoStringer like String.
func (f Format) GoString() string { return f.String() }

// LogValue implements slog.LogValuer like String.
func (f Format) LogValue() slog.Value { return slog.StringValue(f.String()) }
