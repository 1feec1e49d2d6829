package onnxgraph

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// Inliner puts external data of tensors inside a graph into their messages. Its memory is counted in
// Memory until Close.
type Inliner struct {
	Memory *driver.Memory
	size   int64 // of all data so far
}

// Close releases the memory.
func (in *Inliner) Close() {
	in.Memory.Release(in.size)
	in.size = 0
}

// Append appends the fields of a tensor without those that have the given numbers, and the data of v
// as the field raw.
func (in *Inliner) Append(
	b []byte, m messages.Message, v tensor.View, raw int, without ...int,
) ([]byte, error) {
	size := v.Info().Size
	err := in.Memory.Reserve(size)
	if err != nil {
		return b, err
	}
	in.size += size
	if in.size > MaxTensor {
		return b, fmt.Errorf("%w: external data of %d bytes for tensors inside a graph",
			tensor.ErrLimit, in.size)
	}
	v, err = v.Clone()
	if err != nil {
		return b, err
	}
	data, err := v.Bytes()
	if err != nil {
		return b, err
	}
	b = messages.AppendOthers(b, m, without...)
	return messages.AppendBytes(b, raw, data), nil
}
