package wia

import (
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options without keys, on one line.
func (o WriteOptions) String() string {
	return oneline.Struct("WriteOptions", "WriteOptions", o.WriteOptions, "Compression", uint8(o.Compression), "CompressTensor", o.CompressTensor != nil, "Level", o.Level, "ExternalFrom", o.ExternalFrom, "External", o.External, "Key", oneline.Secret(o.Key != nil), "Signer", oneline.Secret(o.Signer != nil))
}

// GoString implements fmt.GoStringer like String.
func (o WriteOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o WriteOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the part and how much is said of it, on one line.
func (d Doc) String() string {
	return oneline.Struct("Doc", "Path", d.Path, "Name", d.Name, "Text", d.Text, "Properties", len(d.Properties))
}

// GoString implements fmt.GoStringer like String.
func (d Doc) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Doc) LogValue() slog.Value { return slog.StringValue(d.String()) }
