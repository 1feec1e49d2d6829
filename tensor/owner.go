package tensor

// Owner is the memory that views are sliced from: a mapping, a heap buffer or
// a reader. It is implemented by this module; callers only hold it through a
// View. All methods are safe for concurrent use.
type Owner interface {
	// Enter holds the memory for a short use: Close waits for Leave.
	// It fails with ErrClosed after Close began.
	Enter() error
	// Leave ends what Enter began.
	Leave()
	// Lend is called before a raw slice leaves the library. It fails with
	// ErrClosed after Close; otherwise the owner will no longer be unmapped by
	// the garbage collector, only by Close, since nobody can know how long the
	// slice lives.
	Lend() error
	// Origin names the format and the file for error messages.
	Origin() (format, path string)
}

// Loader is an Owner some of whose tensors do not lie in its memory as such:
// compressed, encrypted, misaligned, or behind an io.ReaderAt.
type Loader interface {
	Owner
	// Load returns the little-endian bytes of the tensor info describes, exactly
	// Info.Size of them, aligned for its dtype, in heap memory that is never
	// written again. info is the one the view was made with.
	Load(info *Info) ([]byte, error)
}
