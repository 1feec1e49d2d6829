package format

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/internal/source"
)

// OpenReaderAt, and Sibling for the files that it opens, look for these interfaces of a reader, and
// for no others. A type that embeds such a reader has them, too. To be sure that a reader has one,
// write
//
//	var _ format.DescribedReader = (*Reader)(nil)

// SiblingOpener is an io.ReaderAt that opens other files of its model, such as shards and external
// data. It is used unless Options.Dir is set.
type SiblingOpener interface {
	// Sibling opens the file of that name next to the model, with its size. The name is a clean
	// path with slashes that does not lead out of the model's directory. The error wraps
	// fs.ErrNotExist if there is no such file. The reader may implement the interfaces of this
	// package, too. The model closes no reader: release what it holds in Cancel (NotifiedReader),
	// after which nothing is read, or after Model.Close.
	Sibling(name string) (r io.ReaderAt, size int64, err error)
}

// ContextReaderAt is an io.ReaderAt whose reads can be canceled: those of Model.Verify, Model.Load
// and View.ReadIntoContext, among others.
type ContextReaderAt interface {
	// ReadAtContext is ReadAt, and returns the error of the context when that ends.
	ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error)
}

// DescribedReader is an io.ReaderAt that describes itself.
type DescribedReader interface {
	// ReaderInfo is called when the reader is opened.
	ReaderInfo() ReaderInfo
}

// ReaderInfo describes a reader. Zero fields are not known.
type ReaderInfo struct {
	// Path is the name of the file in errors, and for a tensor without a name. Model.Path stays
	// empty.
	Path string
	// Proven is the number of bytes that are known to exist, so that the engine need not try to
	// read the last one.
	Proven int64
	// Parallel is how many reads at once are useful. Without it, Options.Workers and Model.Load
	// decide.
	Parallel int
}

// NotifiedReader is an io.ReaderAt that is told how the model uses it.
type NotifiedReader interface {
	// Parsed is called after the structure was read, or with Options.Private before all is, to end
	// reading ahead.
	Parsed()
	// Cancel is called once, when the model is closed or opening failed. It ends reads in progress.
	Cancel()
}

// readerOf returns r with all that it can do.
func readerOf(r io.ReaderAt) *source.Reader {
	s := &source.Reader{ReaderAt: r}
	if d, ok := r.(DescribedReader); ok {
		info := d.ReaderInfo()
		s.Path = info.Path
		s.Proven = info.Proven
		s.Parallel = info.Parallel
	}
	if c, ok := r.(ContextReaderAt); ok {
		s.ReadContext = c.ReadAtContext
	}
	if n, ok := r.(NotifiedReader); ok {
		s.Parsed = n.Parsed
		s.Cancel = n.Cancel
	}
	return s
}
