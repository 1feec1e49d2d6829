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

// String describes the part and how much is said of it, on one line.
func (d Doc) String() string {
	return oneline.Struct("Doc", "Path", d.Path, "Name", d.Name, "Text", d.Text, "Properties", len(d.Properties))
}

// GoString implements fmt.GoStringer like String.
func (d Doc) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Doc) LogValue() slog.Value { return slog.StringValue(d.String()) }
