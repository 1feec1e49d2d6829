package driver

import (
	"log/slog"
	"strconv"

	"github.com/weightmap/weightmap/internal/oneline"
	"github.com/weightmap/weightmap/tensor"
)

// String describes the options without keys, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Format", o.Format, "Check", uint8(o.Check), "Progress", o.Progress != nil, "Workers", o.Workers,
		"MaxMemory", o.MaxMemory, "CacheBytes", o.CacheBytes, "Key", oneline.Secret(o.Key != nil), "Trusted", o.Trusted != nil,
		"Dir", o.Dir, "Root", o.Root, "Private", o.Private, "Lock", o.Lock, "Debug", o.Debug)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the name and the endings, on one line.
func (d Description) String() string {
	return oneline.Struct("Description", "Name", d.Name, "Extensions", d.Extensions, "CheckOnTouch", d.CheckOnTouch, "Stores", d.Stores)
}

// GoString implements fmt.GoStringer like String.
func (d Description) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Description) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String describes sizes, on one line.
func (l Layout) String() string {
	return oneline.Struct("Layout", "Size", l.Size, "Offsets", len(l.Offsets), "Parts", len(l.Parts), "Sums", l.Sums, "Files", l.Files)
}

// GoString implements fmt.GoStringer like String.
func (l Layout) GoString() string { return l.String() }

// LogValue implements slog.LogValuer like String.
func (l Layout) LogValue() slog.Value { return slog.StringValue(l.String()) }

// String describes offset and size, on one line.
func (p Part) String() string {
	return oneline.Struct("Part", "Offset", p.Offset, "Bytes", len(p.Bytes))
}

// GoString implements fmt.GoStringer like String.
func (p Part) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Part) LogValue() slog.Value { return slog.StringValue(p.String()) }

// String describes what a file has, on one line.
func (p Parsed) String() string {
	return oneline.Struct("Parsed", "Metadata", p.Metadata, "Graph", p.Graph, "Notes", p.Notes, "Signature", p.Signature != nil,
		"NeedsKey", p.NeedsKey, "Part", p.Part, "Parts", p.Parts)
}

// GoString implements fmt.GoStringer like String.
func (p Parsed) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Parsed) LogValue() slog.Value { return slog.StringValue(p.String()) }

// String describes name, type, shape and place, on one line.
func (t Tensor) String() string {
	return oneline.Struct("Tensor", "Name", string(t.Name), "DType", t.DType, "Shape", tensor.Shape(t.Shape), "Offset", t.Offset, "Size", t.Size, "Stored", t.Stored)
}

// GoString implements fmt.GoStringer like String.
func (t Tensor) GoString() string { return t.String() }

// LogValue implements slog.LogValuer like String.
func (t Tensor) LogValue() slog.Value { return slog.StringValue(t.String()) }

// String describes the number of tensors, on one line.
func (x *Index) String() string {
	if x == nil {
		return "no index"
	}
	return "index of " + strconv.Itoa(x.Len()) + " tensors"
}

// GoString implements fmt.GoStringer like String.
func (x *Index) GoString() string { return x.String() }

// LogValue implements slog.LogValuer like String.
func (x *Index) LogValue() slog.Value { return slog.StringValue(x.String()) }

// String describes the range and the size of the digest, on one line.
func (d SignedDigest) String() string {
	return oneline.Struct("SignedDigest", "Offset", d.Offset, "Size", d.Size, "Sum", len(d.Sum))
}

// GoString implements fmt.GoStringer like String.
func (d SignedDigest) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d SignedDigest) LogValue() slog.Value { return slog.StringValue(d.String()) }

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
	return oneline.Struct("WriteOptions", "Progress", o.Progress != nil, "NoSync", o.NoSync, "KeepOld", o.KeepOld, "Spool", o.Spool, "AcceptLoss", o.AcceptLoss,
		"KeepNames", o.KeepNames, "MaxShard", o.MaxShard, "Compression", o.Compression, "Level", o.Level, "Signer", oneline.Secret(o.Signer != nil),
		"Key", oneline.Secret(o.Key != nil), "Align", o.Align, "Extended", o.Extended, "ExternalFrom", o.ExternalFrom, "Format", o.Format != nil, "Path", o.Path)
}

// GoString implements fmt.GoStringer like String.
func (o WriteOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o WriteOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }
