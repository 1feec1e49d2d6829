package driver

import (
	"fmt"
	"io"
)

// Layouter is a Driver that writes files.
type Layouter interface {
	// Layout says how the file of a plan is written. The plan is checked and complete; what the
	// format cannot hold is ErrPlan.
	Layout(p *Plan, o *WriteOptions) (*Layout, error)
}

// Layout is a file before its data is known. Either its places follow from the plan, or it
// has an Encode.
type Layout struct {
	// Size is the number of bytes of the whole file.
	Size int64
	// Offsets has the place of each tensor's data, by its index in the plan.
	Offsets []int64
	// Parts are the bytes that are known now, at ascending offsets. They and the
	// tensors must not overlap; what neither covers is zero.
	Parts []Part
	// Late returns what depends on the data: it is called after the last tensor with
	// the sum of each, by its index in the plan, of the kind that Sums says. Such
	// a file is not streamed unless Streams says that these parts come behind all else.
	// Nil for files without such parts.
	Late func(sums []uint64) ([]Part, error)
	Sums Kind
	// Files has the names of files, one for each tensor, that together are a directory.
	// File i has only Parts[i] and behind it tensor i. Size and Offsets are not used.
	Files []string

	// Encode starts a file whose places depend on its data. None of the fields above is used.
	Encode func(t Target) (Encoder, error)
	// Streams says that Encode works on a sequential target, with tensors in the plan's order,
	// or that Late's parts come behind all else.
	Streams bool
	// Ordered says that tensors must reach the Encoder in the plan's order. Those that come
	// early wait where the caller's Spool says, or, if they are Secret, in memory.
	Ordered, Secret bool
	// Committed, if not nil, is called when the target is in place. Other files that it names
	// are in place when the Encoder's Finish returns; its Close removes them unless Committed was
	// called. durable says that what only the old model needed can go.
	Committed func(durable bool)
}

// Part is a piece of a file.
type Part struct {
	Offset int64
	Bytes  []byte
}

// Sharder is a Layouter that can spread a model over several files.
type Sharder interface {
	Layouter
	// Shards says which files hold the parts of a plan for a model at path, and completes the
	// metadata of the parts. One part alone makes an ordinary file.
	Shards(path string, parts []*Plan) (*Shards, error)
}

// Shards are the files of a model.
type Shards struct {
	// Paths are those of the parts.
	Paths []string
	// Index is the path of a file that names the parts and opens the model, "" if the first
	// part does, and Text is its content.
	Index string
	Text  []byte
	// Old are the files of a former model that this one replaces. They are removed
	// once it is in place.
	Old []string
}

// Encoder is a format's part in writing one file. It is not called concurrently.
type Encoder interface {
	// Tensor stores the data of tensor i of the plan, all that in delivers. Afterwards
	// in is the caller's again.
	Tensor(i int, in Input) error
	// Finish completes the file after the last tensor. An aborted file is not finished. An
	// Encoder that holds other resources implements io.Closer, which is called in either case.
	Finish() error
}

// Input is the data of one tensor on its way into a file: exactly Size bytes, or
// an error. It stops when the context of the writer is done.
type Input interface {
	// Read implements io.Reader.
	Read(p []byte) (int, error)
	// Size returns the number of bytes of the tensor.
	Size() int64
	// Each calls f with one piece after the other, valid during the call.
	Each(f func(p []byte) error) error
	// CopyTo writes the data at off and feeds it to sum, which may be nil. Both may happen
	// at the same time, in two goroutines.
	CopyTo(t io.WriterAt, off int64, sum io.Writer) error
}

// Target is a file being written. Gaps that nothing wrote read as zeros.
type Target interface {
	io.WriterAt
	io.ReaderAt
	// Truncate cuts the file to size, or fills it up with zeros.
	Truncate(size int64) error
	// Sequential reports that writes must come in ascending order and nothing
	// can be read back or changed: what goes into the header must be known first.
	Sequential() bool
}

// ErrSequential is returned by a sequential target for what it cannot do. It is an ErrUnsupported.
var ErrSequential = fmt.Errorf("%w: the target can only be written from front to back", ErrUnsupported)
