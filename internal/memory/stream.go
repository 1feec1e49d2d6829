package memory

import (
	"context"
	"io"
)

// Streamer is an Owner that writes the bytes of some tensors piece by piece, as it decodes them,
// and never has them whole.
type Streamer[I any] interface {
	// Streams reports whether Stream can write the tensor.
	Streams(info *I) bool
	// Stream writes the bytes of a tensor that Streams reports to w. It fails if w does, or if ctx
	// is canceled.
	Stream(ctx context.Context, info *I, w io.Writer) error
	// Section reports whether the tensor is a part of data that is compressed as a whole, and where
	// in it the tensor begins. StreamSection writes that data; Stream would need all of it for each
	// of its tensors.
	Section(info *I) (offset int64, ok bool)
	StreamSection(ctx context.Context, info *I, w io.Writer) error
}
