package tsr

import (
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options without keys, on one line.
func (o WriteOptions) String() string {
	return oneline.Struct("WriteOptions", "WriteOptions", o.WriteOptions)
}

// GoString implements fmt.GoStringer like String.
func (o WriteOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o WriteOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }
