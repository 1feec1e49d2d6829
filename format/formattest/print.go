package formattest

import (
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the format and the number of samples, on one line.
func (c Config) String() string {
	return oneline.Struct("Config", "Samples", len(c.Samples), "Files", len(c.Files), "Exempt", len(c.Exempt))
}

// GoString implements fmt.GoStringer like String.
func (c Config) GoString() string { return c.String() }

// LogValue implements slog.LogValuer like String.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String describes the name and size, on one line.
func (f File) String() string {
	return oneline.Struct("File", "Name", f.Name, "Bytes", len(f.Bytes), "Field", f.Field)
}

// GoString implements fmt.GoStringer like String.
func (f File) GoString() string { return f.String() }

// LogValue implements slog.LogValuer like String.
func (f File) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String describes the options, on one line.
func (o SchemaOptions) String() string {
	return oneline.Struct("SchemaOptions", "DTypes", len(o.DTypes), "Tensors", o.Tensors, "MinRank", o.MinRank, "Zero", o.Zero, "Name", o.Name)
}

// GoString implements fmt.GoStringer like String.
func (o SchemaOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o SchemaOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes the name and the schema, on one line.
func (s Sample) String() string {
	return oneline.Struct("Sample", "Name", s.Name, "Schema", s.Schema, "Random", s.Random, "Slack", s.Slack)
}

// GoString implements fmt.GoStringer like String.
func (s Sample) GoString() string { return s.String() }

// LogValue implements slog.LogValuer like String.
func (s Sample) LogValue() slog.Value { return slog.StringValue(s.String()) }
