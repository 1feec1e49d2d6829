package mle

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options, on one line.
func (f Format) String() string {
	return oneline.Struct("Format", "Version", f.Version, "HeaderSize", f.HeaderSize,
		"Lossy", uint8(f.Lossy), "Chunked", f.Chunked, "ChunkSize", f.ChunkSize,
		"Quantized", f.Quantized, "IR", f.IR)
}

// GoString implements fmt.GoStringer like String.
func (f Format) GoString() string { return f.String() }

// LogValue implements slog.LogValuer like String.
func (f Format) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String describes name, type, shape and place, on one line.
func (d Descriptor) String() string {
	return oneline.Struct("Descriptor", "Name", d.Name, "DType", d.DType, "Code", d.Code, "Shape",
		d.Shape, "Offset", d.Offset, "Size", d.Size)
}

// GoString implements fmt.GoStringer like String.
func (d Descriptor) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Descriptor) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String describes the numbers of tensors and nodes, on one line.
func (g IR) String() string {
	return fmt.Sprintf("graph of %d tensors, %d nodes, %d inputs, %d outputs", len(g.Tensors),
		len(g.Nodes), len(g.Inputs), len(g.Outputs))
}

// GoString implements fmt.GoStringer like String.
func (g IR) GoString() string { return g.String() }

// LogValue implements slog.LogValuer like String.
func (g IR) LogValue() slog.Value { return slog.StringValue(g.String()) }

// String describes the operator and its values, on one line.
func (n IRNode) String() string {
	return oneline.Struct("IRNode", "Op", n.Op, "Inputs", ids(n.Inputs), "Outputs", ids(n.Outputs),
		"Params", ids(n.Params), "Attributes", oneline.Plain(n.Attributes))
}

// GoString implements fmt.GoStringer like String.
func (n IRNode) GoString() string { return n.String() }

// LogValue implements slog.LogValuer like String.
func (n IRNode) LogValue() slog.Value { return slog.StringValue(n.String()) }

func ids(list []uint32) oneline.Plain {
	return oneline.Plain(oneline.List(list, func(id uint32) string { return fmt.Sprint(id) }))
}
