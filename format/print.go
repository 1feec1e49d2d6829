package format

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
	"github.com/weightmap/weightmap/tensor"
)

// String describes the file, its format and the number of its tensors, on one line.
func (m *Model) String() string {
	m = m.opened()
	if m == dead {
		return "no open model"
	}
	if m.isClosed() {
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

// String describes the tensor, the slice and the room for it, on one line.
func (r Request) String() string {
	return oneline.Struct("Request", "Tensor", r.Tensor, "Slice", oneline.Plain(oneline.List(r.Slice, func(s tensor.Range) string { return fmt.Sprint(s) })),
		"Bytes", len(r.Bytes), "Floats", len(r.Floats))
}

// GoString implements fmt.GoStringer like String.
func (r Request) GoString() string { return r.String() }

// LogValue implements slog.LogValuer like String.
func (r Request) LogValue() slog.Value { return slog.StringValue(r.String()) }

// String describes the statistics, on one line.
func (s Stats) String() string {
	return oneline.Struct("Stats", "Path", s.Path, "FileSize", s.FileSize, "Mapped", s.Mapped, "Heap", s.Heap, "OnDemand", s.OnDemand,
		"Resident", s.Resident, "Locked", s.Locked, "Kept", s.Kept, "ZeroCopy", s.ZeroCopy, "Copies", len(s.Copies), "Lent", s.Lent, "Verified", s.Verified)
}

// GoString implements fmt.GoStringer like String.
func (s Stats) GoString() string { return s.String() }

// LogValue implements slog.LogValuer like String.
func (s Stats) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String describes the options, on one line.
func (o VerifyOptions) String() string {
	return oneline.Struct("VerifyOptions", "Tensors", o.Tensors, "Trusted", o.Trusted != nil, "Workers", o.Workers, "Progress", o.Progress != nil)
}

// GoString implements fmt.GoStringer like String.
func (o VerifyOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o VerifyOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the request, offset and size, on one line.
func (p Piece) String() string {
	return oneline.Struct("Piece", "Request", p.Request, "Offset", p.Offset, "Data", len(p.Data), "Last", p.Last)
}

// GoString implements fmt.GoStringer like String.
func (p Piece) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Piece) LogValue() slog.Value { return slog.StringValue(p.String()) }
