package memory

import (
	"context"
	"io"
)

// Streamer is an Owner that writes the bytes of some tensors piece by piece, as it decodes them, and never has them whole.
type Streamer[I any] interface {
	// Streams reports whether Stream can write the tensor.
	Streams(info *I) bool
	// Stream writes the bytes of the tensor to w. It fails if w does, or if ctx is canceled.
	Stream(ctx context.Context, info *I, w io.Writer) error
}
