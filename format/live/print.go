package live

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the path and the generation, on one line.
func (h *Handle) String() string {
	if h == nil || h.life == nil {
		return "no handle"
	}
	if h.current.Load() == nil {
		return fmt.Sprintf("handle of %s, closed", oneline.Text(h.path))
	}
	return fmt.Sprintf("handle of %s, generation %d", oneline.Text(h.path), h.Stats().Generation)
}

// GoString implements fmt.GoStringer like String.
func (h *Handle) GoString() string { return h.String() }

// LogValue implements slog.LogValuer like String.
func (h *Handle) LogValue() slog.Value { return slog.StringValue(h.String()) }

// String describes the options without keys, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Open", o.Open, "Verify", o.Verify, "Workers", o.Workers, "Validate", o.Validate != nil,
		"Prepare", o.Prepare != nil, "Warm", o.Warm, "Hot", o.Hot, "Interval", o.Interval, "Notify", o.Notify != nil)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the generation, on one line.
func (l *Lease) String() string {
	if l == nil || l.g == nil {
		return "no lease"
	}
	return fmt.Sprintf("lease of generation %d of %s", l.Generation(), oneline.Text(l.Model().Path()))
}

// GoString implements fmt.GoStringer like String.
func (l *Lease) GoString() string { return l.String() }

// LogValue implements slog.LogValuer like String.
func (l *Lease) LogValue() slog.Value { return slog.StringValue(l.String()) }
