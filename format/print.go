package format

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the file, its format and the number of its tensors, on one line.
func (m *Model) String() string {
	e := m.engine()
	if e == dead {
		return "no open model"
	}
	if e.IsClosed() {
		return fmt.Sprintf("%s: %s %s, closed", oneline.Text(m.place.name), m.Format(), m.Version())
	}
	return fmt.Sprintf("%s: %s %s, %s", oneline.Text(m.place.name), m.Format(), m.Version(), oneline.Count(m.Len(), "tensor"))
}

// GoString implements fmt.GoStringer like String.
func (m *Model) GoString() string { return m.String() }

// LogValue implements slog.LogValuer like String.
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.String()) }

// String describes the files that are written, on one line.
func (w *Writer) String() string {
	if w == nil {
		return "no writer"
	}
	return "writer of " + oneline.List(w.Files(), oneline.Text)
}

// GoString implements fmt.GoStringer like String.
func (w *Writer) GoString() string { return w.String() }

// LogValue implements slog.LogValuer like String.
func (w *Writer) LogValue() slog.Value { return slog.StringValue(w.String()) }
