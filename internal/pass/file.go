package pass

import "context"

// File is a file, memory or a reader whose ranges a Pass reads. Its methods are safe for concurrent
// use. The caller keeps it open during the pass.
type File interface {
	// Memory returns all bytes, to be used in place. It is nil for a file that is read, and for one
	// whose copies are compared with what was signed.
	Memory() []byte
	// ReadAtContext fills p from an offset. It fails if it cannot.
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
	// Mapping returns the mapping that Memory, or ReadAtContext, reads. It is nil for other memory
	// and for readers.
	Mapping() Mapping
	// Kind returns how the file is best read.
	Kind() Kind
}

// Mapping is the mapping of a file.
type Mapping interface {
	// Size returns the number of bytes of the file.
	Size() int64
	// IsUsed reports whether the program has used the bytes of a range in place, so that their
	// pages are mapped.
	IsUsed(off, size int64) bool
	// MarkUsed says that the program uses the bytes of a range in place.
	MarkUsed(off, size int64)
	// Populate maps the pages of a range. It is a hint.
	Populate(off, size int64)
	// Reopen opens the file again, to be read and not mapped.
	Reopen() (Reopened, error)
}

// Reopened is a file that was mapped and is read.
type Reopened interface {
	File
	// ReadEach fills buffers with consecutive bytes from an offset, and may change the elements of
	// to. It reports false if it cannot, as on other systems than Linux and Android.
	ReadEach(to [][]byte, off int64) (ok bool, err error)
	Close() error
}

// Kind says how a file is best read.
type Kind struct {
	// IsReader means that the file has to be fetched: each read is a request, which may take long.
	IsReader bool
	// Align, if not 0, is the distance between offsets at which pieces of the file should end.
	Align int64
}
