package remote

import (
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options without header fields and keys, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Client", o.Client != nil, "Header", oneline.Secret(len(o.Header) > 0), "AllowUnversioned", o.AllowUnversioned,
		"Window", o.Window, "Part", o.Part, "Parallel", o.Parallel, "Retries", o.Retries, "Backoff", o.Backoff, "MaxWait", o.MaxWait,
		"Stall", o.Stall, "Timeout", o.Timeout, "Open", o.Open)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }
