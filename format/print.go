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

// String describes the options without keys, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Format", nameOfFormat(o.Format), "Check", uint8(o.Check), "Progress", o.Progress != nil, "Workers", o.Workers,
		"MaxMemory", o.MaxMemory, "CacheBytes", o.CacheBytes, "Key", oneline.Secret(o.Key != nil), "Trusted", o.Trusted != nil,
		"Dir", o.Dir, "Root", o.Root, "Private", o.Private, "Lock", o.Lock, "Debug", o.Debug)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the range and the size of the digest, on one line.
func (d Digest) String() string {
	return oneline.Struct("Digest", "Offset", d.Offset, "Size", d.Size, "Sum", len(d.Sum))
}

// GoString implements fmt.GoStringer like String.
func (d Digest) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Digest) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String describes the file on one line.
func (f UnverifiedFile) String() string {
	return oneline.Struct("UnverifiedFile", "Name", f.Name, "Size", f.Size, "Open", f.Open)
}

// GoString implements fmt.GoStringer like String.
func (f UnverifiedFile) GoString() string { return f.String() }

// LogValue implements slog.LogValuer like String.
func (f UnverifiedFile) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String describes the model by its path, on one line.
func (u *Unverified) String() string { return oneline.Struct("Unverified", "Path", u.Path()) }

// GoString implements fmt.GoStringer like String.
func (u *Unverified) GoString() string { return u.String() }

// LogValue implements slog.LogValuer like String.
func (u *Unverified) LogValue() slog.Value { return slog.StringValue(u.String()) }

// String describes the options without keys, on one line.
func (o WriteOptions) String() string {
	return oneline.Struct("WriteOptions", "Format", nameOfFormat(o.Format), "Progress", o.Progress != nil, "NoSync", o.NoSync, "KeepOld", o.KeepOld, "Spool", o.Spool, "AcceptLoss", o.AcceptLoss,
		"KeepNames", o.KeepNames, "MaxShard", o.MaxShard, "Compression", o.Compression, "Level", o.Level, "Signer", oneline.Secret(o.Signer != nil),
		"Key", oneline.Secret(o.Key != nil), "Align", o.Align, "Extended", o.Extended, "ExternalFrom", o.ExternalFrom, "External", o.External)
}

// GoString implements fmt.GoStringer like String.
func (o WriteOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o WriteOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// nameOfFormat returns the name of a format, "" for nil.
func nameOfFormat(f Format) string {
	if f == nil {
		return ""
	}
	return driverName(f.Driver())
}
