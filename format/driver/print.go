package driver

import (
	"log/slog"
	"strconv"

	"github.com/weightmap/weightmap/internal/oneline"
	"github.com/weightmap/weightmap/tensor"
)

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

// String describes the options without keys, on one line.
func (o ParseOptions) String() string {
	return oneline.Struct("ParseOptions", "CheckSums", o.CheckSums, "Key", oneline.Secret(o.Key != nil))
}

// GoString implements fmt.GoStringer like String.
func (o ParseOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o ParseOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the options without keys, on one line.
func (o LayoutOptions) String() string {
	return oneline.Struct("LayoutOptions", "Path", o.Path, "KeepNames", o.KeepNames, "Compression", o.Compression, "Level", o.Level,
		"Signer", oneline.Secret(o.Signer != nil), "Key", oneline.Secret(o.Key != nil), "Align", o.Align, "Extended", o.Extended,
		"ExternalFrom", o.ExternalFrom, "External", o.External)
}

// GoString implements fmt.GoStringer like String.
func (o LayoutOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o LayoutOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }
