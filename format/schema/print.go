package schema

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
	"github.com/weightmap/weightmap/tensor"
)

// String describes the key and the beginning of the value, on one line.
func (e Entry) String() string {
	return oneline.Text(e.Key) + ": " + shortValue(e.Value)
}

// GoString implements fmt.GoStringer like String.
func (e Entry) GoString() string { return e.String() }

// LogValue implements slog.LogValuer like String.
func (e Entry) LogValue() slog.Value { return slog.StringValue(e.String()) }

// String describes the first entries and the number of entries, on one line.
func (m Metadata) String() string {
	if len(m) == 0 {
		return "[]"
	}
	return oneline.List(m, Entry.String)
}

// GoString implements fmt.GoStringer like String.
func (m Metadata) GoString() string { return m.String() }

// LogValue implements slog.LogValuer like String.
func (m Metadata) LogValue() slog.Value { return slog.StringValue(m.String()) }

// shortValue describes a value of metadata or of an attribute.
func shortValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return oneline.Text(v)
	case *Graph:
		return v.String()
	}
	if text, err := (Entry{Value: v}).Text(); err == nil {
		return oneline.Plain(text).String()
	}
	return TypeName(v)
}

// String describes how much the schema has, on one line.
func (p Schema) String() string {
	return oneline.Struct("Schema", "Tensors", oneline.Plain(oneline.List(p.Tensors, tensor.Info.String)), "Metadata", oneline.Plain(p.Metadata.String()),
		"Graph", p.Graph, "Docs", oneline.Plain(oneline.List(p.Docs, Doc.String)),
		"Native", p.Native, "Part", p.Part, "Parts", p.Parts)
}

// GoString implements fmt.GoStringer like String.
func (p Schema) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Schema) LogValue() slog.Value { return slog.StringValue(p.String()) }

// String describes the name and the numbers of nodes, inputs and outputs, on one line.
func (g Graph) String() string {
	return fmt.Sprintf("graph %s of %d nodes, %d inputs, %d outputs", oneline.Text(g.Name), len(g.Nodes), len(g.Inputs), len(g.Outputs))
}

// GoString implements fmt.GoStringer like String.
func (g Graph) GoString() string { return g.String() }

// LogValue implements slog.LogValuer like String.
func (g Graph) LogValue() slog.Value { return slog.StringValue(g.String()) }

// String describes the operator, its values and attributes, on one line.
func (n Node) String() string {
	return oneline.Struct("Node", "Name", n.Name, "Op", n.Op, "Domain", n.Domain, "Inputs", n.Inputs, "Outputs", n.Outputs,
		"Attributes", oneline.Plain(oneline.List(n.Attributes, Attribute.String)))
}

// GoString implements fmt.GoStringer like String.
func (n Node) GoString() string { return n.String() }

// LogValue implements slog.LogValuer like String.
func (n Node) LogValue() slog.Value { return slog.StringValue(n.String()) }

// String describes the name and the beginning of the value, on one line.
func (a Attribute) String() string {
	return oneline.Text(a.Name) + ": " + shortValue(a.Value)
}

// GoString implements fmt.GoStringer like String.
func (a Attribute) GoString() string { return a.String() }

// LogValue implements slog.LogValuer like String.
func (a Attribute) LogValue() slog.Value { return slog.StringValue(a.String()) }

// String describes name, type and dims, on one line.
func (v ValueInfo) String() string {
	return oneline.Struct("ValueInfo", "Name", v.Name, "DType", v.DType, "Code", v.Code, "Dims", oneline.Plain(oneline.List(v.Dims, Dim.String)))
}

// GoString implements fmt.GoStringer like String.
func (v ValueInfo) GoString() string { return v.String() }

// LogValue implements slog.LogValuer like String.
func (v ValueInfo) LogValue() slog.Value { return slog.StringValue(v.String()) }

// String describes the symbol or the size, on one line.
func (d Dim) String() string {
	if d.Symbol != "" {
		return oneline.Text(d.Symbol)
	}
	return fmt.Sprint(d.Size)
}

// GoString implements fmt.GoStringer like String.
func (d Dim) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Dim) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String describes the part and how much is said of it, on one line.
func (d Doc) String() string {
	return oneline.Struct("Doc", "Path", d.Path, "Name", d.Name, "Text", d.Text,
		"Properties", len(d.Properties))
}

// GoString implements fmt.GoStringer like String.
func (d Doc) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Doc) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String describes the format and the kinds, on one line.
func (n Native) String() string {
	return oneline.Struct("Native", "Format", n.Format, "Kinds", oneline.Plain(oneline.List(n.Kinds, NativeKind.String)), "Raw", oneline.Plain(oneline.Count(len(n.Raw), "byte")))
}

// GoString implements fmt.GoStringer like String.
func (n Native) GoString() string { return n.String() }

// LogValue implements slog.LogValuer like String.
func (n Native) LogValue() slog.Value { return slog.StringValue(n.String()) }

// String describes the name, number and size, on one line.
func (k NativeKind) String() string {
	return fmt.Sprintf("%s: %d (%d bytes)", k.Name, k.Count, k.Bytes)
}

// GoString implements fmt.GoStringer like String.
func (k NativeKind) GoString() string { return k.String() }

// LogValue implements slog.LogValuer like String.
func (k NativeKind) LogValue() slog.Value { return slog.StringValue(k.String()) }

// String describes the algorithm and the time, on one line.
func (s Signature) String() string {
	return oneline.Struct("Signature", "Algorithm", s.Algorithm, "PublicKey", s.PublicKey != nil, "Timestamp", s.Timestamp)
}

// GoString implements fmt.GoStringer like String.
func (s Signature) GoString() string { return s.String() }

// LogValue implements slog.LogValuer like String.
func (s Signature) LogValue() slog.Value { return slog.StringValue(s.String()) }

// GoString implements fmt.GoStringer like String.
func (l Loss) GoString() string { return l.String() }

// LogValue implements slog.LogValuer like String.
func (l Loss) LogValue() slog.Value { return slog.StringValue(l.String()) }
