package mle

import (
	"fmt"
	"log/slog"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options without keys, on one line.
func (o WriteOptions) String() string {
	return oneline.Struct("WriteOptions", "WriteOptions", o.WriteOptions, "Version", o.Version, "HeaderSize", o.HeaderSize, "Compression", uint8(o.Compression),
		"Level", o.Level, "Chunked", o.Chunked, "ChunkSize", o.ChunkSize, "Quantized", o.Quantized, "Key", oneline.Secret(o.Key != nil),
		"Signer", oneline.Secret(o.Signer != nil), "IR", o.IR)
}

// GoString implements fmt.GoStringer like String.
func (o WriteOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer like String.
func (o WriteOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String describes name, type, shape and place, on one line.
func (d Descriptor) String() string {
	return oneline.Struct("Descriptor", "Name", d.Name, "DType", d.DType, "Code", d.Code, "Shape", d.Shape, "Offset", d.Offset, "Size", d.Size)
}

// GoString implements fmt.GoStringer like String.
func (d Descriptor) GoString() string { return d.String() }

// LogValue implements slog.LogValuer like String.
func (d Descriptor) LogValue() slog.Value { return slog.StringValue(d.String()) }

// String describes the numbers of tensors and nodes, on one line.
func (g IR) String() string {
	return fmt.Sprintf("graph of %d tensors, %d nodes, %d inputs, %d outputs", len(g.Tensors), len(g.Nodes), len(g.Inputs), len(g.Outputs))
}

// GoString implements fmt.GoStringer like String.
func (g IR) GoString() string { return g.String() }

// LogValue implements slog.LogValuer like String.
func (g IR) LogValue() slog.Value { return slog.StringValue(g.String()) }

// String describes the operator and its values, on one line.
func (n IRNode) String() string {
	return oneline.Struct("IRNode", "Op", n.Op, "Inputs", ids(n.Inputs), "Outputs", ids(n.Outputs), "Params", ids(n.Params), "Attributes", oneline.Plain(n.Attributes))
}

// GoString implements fmt.GoStringer like String.
func (n IRNode) GoString() string { return n.String() }

// LogValue implements slog.LogValuer like String.
func (n IRNode) LogValue() slog.Value { return slog.StringValue(n.String()) }

func ids(list []uint32) oneline.Plain {
	return oneline.Plain(oneline.List(list, func(id uint32) string { return fmt.Sprint(id) }))
}
