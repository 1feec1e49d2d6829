package driver

import (
	"fmt"
	"io"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Writer is a Driver that writes files. Losses is called first.
type Writer interface {
	Driver
	// Losses adds everything that the format cannot hold of a schema, which has been checked.
	// Accepted losses are removed from the schema before it is written. The error is for options
	// that are invalid or do not go together.
	Losses(p *schema.Schema, o *LayoutOptions, l *schema.LossList) error
	// Layout returns the layout of the file for a schema without losses. It returns
	// ErrSchema if the format cannot store the schema.
	Layout(p *schema.Schema, o *LayoutOptions) (*Layout, error)
}

// Layout describes a file to write. If offsets depend on the data it has an Encode;
// otherwise the other fields locate everything.
type Layout struct {
	// Size is the number of bytes of the whole file.
	Size int64
	// Offsets has the offset of each tensor's data, by index in the schema.
	Offsets []int64
	// Parts are the bytes that do not depend on the data, at ascending offsets. They
	// must not overlap each other or the tensors, which nothing checks; gaps are filled with
	// zeros.
	Parts []Part
	// Late, if not nil, returns the parts that depend on the data. It is called after
	// the last tensor with the checksum of each, by index in the schema, of the kind
	// Sums. Such a file can be streamed only if Streams is set.
	Late func(sums []uint64) ([]Part, error)
	// Sums is the kind of checksum of tensors that Late gets.
	Sums Kind
	// Files names the files of a directory, one for each tensor. File i consists of
	// Parts[i] followed by tensor i. Size and Offsets are not used.
	Files []string

	// Encode starts a file whose offsets depend on its data. The fields above are not used.
	Encode func(t Target) (Encoder, error)
	// Streams means that Encode works on a sequential target, with tensors in the schema's order,
	// or that the parts of Late follow everything else.
	Streams bool
	// Ordered means that the Encoder needs tensors in the schema's order. Tensors that come
	// early are spooled as format.WriteOptions.Spool says or, if Secret is set, in memory.
	Ordered, Secret bool
	// External, if not nil, is a second file for the data of some tensors. It needs an Encode if it
	// has a size.
	External *External
}

// External is a file next to the model, which names it, with the data of some tensors. Each version
// of it has its own name, so the old model stays whole until the new one replaces it.
type External struct {
	// Stem is what its location begins with, relative to the directory of the model, with slashes.
	Stem string
	// Size is the number of its bytes. If it is 0 there is no such file.
	Size int64
	// Files lists the paths of the files of the model of this format at a path.
	Files func(path string) ([]string, error)

	// File is where the Encoder writes the data. It is set before Encode is called.
	File Target
	// Location is how the model calls the file. It is set before each call of Encoder.Finish, of
	// which there is more than one if another writer replaces the model meanwhile. Only its text
	// changes, not its length.
	Location string
}

const (
	externalDigits = 16
	externalEnd    = ".data"
)

// Name returns the location for 16 hexadecimal digits.
func (x *External) Name(generation string) string { return x.Stem + "." + generation + externalEnd }

// Generation is the inverse of Name.
func (x *External) Generation(location string) (generation string, ok bool) {
	s, ok := strings.CutPrefix(location, x.Stem+".")
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, externalEnd)
	return s, ok && len(s) == externalDigits && strings.Trim(s, "0123456789abcdef") == ""
}

// Part is a piece of a file.
type Part struct {
	Offset int64  // in the file
	Bytes  []byte // to write there
}

// Encoder writes a file of a format. It is not called concurrently.
type Encoder interface {
	// Tensor stores the data of tensor i of the schema, which it reads from in to the end.
	// It must not use in after it returns.
	Tensor(i int, in Input) error
	// Finish completes the file after the last tensor. It is not called for an aborted file, and
	// more than once only for a Layout with an External. An Encoder with resources to release
	// implements io.Closer; Close is called in either case.
	Finish() error
}

// Input reads the data of a tensor to be written: exactly Size bytes, or an error.
// It stops when the context of the writer is done.
type Input interface {
	// Read implements io.Reader.
	Read(p []byte) (int, error)
	// Size returns the size of the tensor in bytes.
	Size() int64
	// Each calls f with consecutive pieces, each valid during the call.
	Each(f func(p []byte) error) error
	// CopyTo writes the data at off of t, and to sum unless that is nil. It may use two
	// goroutines.
	CopyTo(t io.WriterAt, off int64, sum io.Writer) error
}

// Target is a file being written. Gaps read as zeros.
type Target interface {
	io.WriterAt
	io.ReaderAt
	// Truncate cuts the file to size, or extends it with zeros.
	Truncate(size int64) error
	// Sequential reports whether writes must have ascending offsets, and nothing can
	// be read back or overwritten.
	Sequential() bool
}

// ErrSequential is returned by a sequential target for other operations. It wraps ErrUnsupported.
var ErrSequential = fmt.Errorf("%w: the target can only be written from front to back", tensor.ErrUnsupported)
