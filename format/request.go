package format

import (
	"context"

	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/tensor"
)

// Request is a tensor or a part of it, and the caller's memory that Model.Load reads it into.
type Request struct {
	// Tensor is the name of a tensor.
	Tensor string
	// Slice is the part of it, as View.Slice takes it; nil for the whole tensor.
	Slice []tensor.Range
	// Bytes takes the little-endian bytes, as View.ReadInto returns them, or Floats the numbers, as tensor.Decode
	// returns them. Both may have more room than that. With neither, the tensor is brought into memory, where its
	// views find it: its pages are mapped, and what is compressed is decoded and kept.
	Bytes  []byte
	Floats []float32
}

// Load reads many tensors and slices of tensors into the caller's memory: in the order of the file, in large
// steps, on as many goroutines as Options.Workers says. It takes a few megabytes for each of them, and for each tensor at
// work that is compressed or encrypted as much as that. From disk it reads as fast as plain reads of the file do, and no
// goroutine that waits for the disk holds a processor. Behind a reader such as one of package format/remote, requests for
// neighbors become one range, and as many ranges are fetched at a time as the reader says.
//
// Requests may overlap, and their memory must not. Where Options.Check has checksums compared before the first use of a
// tensor, Load compares them on the way. progress may be nil; it is called by one goroutine at a time, with the bytes of all
// requests as the total, and must not close the model.
//
// A request that cannot be met is an error that names the tensor, before anything is read where that is known
// by then: ErrNotFound, ErrShape (a slice outside of the tensor, too little room), ErrOption (Bytes and Floats both set).
// Others are those of View.ReadInto and tensor.Decode, and the context's. After an error the memory of the
// requests may hold anything.
func (m *Model) Load(ctx context.Context, requests []Request, progress Progress) error {
	list := make([]load.Request, len(requests))
	for i, r := range requests {
		list[i] = load.Request(r)
	}
	return m.engine().LoadAll(ctx, list, progress)
}
