// Package memory is what tensor views are made of: a description, an owner that
// keeps the bytes alive, and the bytes where they are in memory. Package tensor
// gives it the methods that users see; only this module can make one.
package memory

import "context"

// Owner is what the bytes of a view belong to: a mapping, a buffer or a reader.
// I is the description of a tensor. All methods are safe for concurrent use.
type Owner[I any] interface {
	// Enter holds the memory for a short use of a tensor: Close waits for Leave. It
	// fails after Close began, and when a checksum that covers the bytes
	// fails before their first use.
	Enter(*I) error
	// Leave ends what Enter began.
	Leave()
	// Lend is called before a raw slice leaves the library; it fails as Enter does.
	// From then on only Close unmaps, not the garbage collector, since nobody can
	// know how long the slice lives.
	Lend(*I) error
	// Load returns the bytes of a tensor that is not in memory,
	// aligned, in heap memory that is never written again. It is called
	// between Enter and Leave.
	Load(*I) ([]byte, error)
	// Ranged reports whether ReadAt gets parts of a tensor for less than Load
	// gets all of it.
	Ranged(*I) bool
	// ReadAt fills p with the bytes of the tensor from off on, between Enter
	// and Leave. Where they come from afar, it ends with the context.
	ReadAt(ctx context.Context, info *I, p []byte, off int64) error
	// Holds reports whether an address lies in the memory, so that a fault there
	// is the owner's.
	Holds(addr uintptr) bool
	// Fault is the error for missing memory at an address that Holds knows.
	Fault(addr uintptr) error
	// Explain names format, file and tensor in an error that does not.
	Explain(info *I, err error) error
}

// Advice is a hint or a question about bytes in an Advisor's memory.
type Advice int

const (
	Prefetch Advice = iota // they will be read soon
	Populate               // they will be read now: a page fault would hold a processor while a disk reads
	Evict                  // they will not
	Resident               // how many are in physical memory, -1 if unknown
	Lock                   // they stay in physical memory until Close
)

// PopulateStep is how much is populated at a time: enough that a system call costs nothing, little
// enough that it is still in memory when it is read.
const PopulateStep = 128 << 10

// Advisor is the Owner of a model. b is part of its memory. Advise does not check sums.
type Advisor interface {
	Advise(a Advice, b []byte) (int64, error)
	// Workers returns how many goroutines decode a tensor, 0 for one a processor.
	Workers() int
}

// Ref is a view without methods for users. The zero Ref has no tensor.
type Ref[I any] struct {
	_     [0]func() // views are not compared
	info  *I
	owner Owner[I]
	data  Hidden
}

// New makes the view of a tensor whose bytes are data, nil when its owner must
// load them. info must not change afterwards.
func New[I any](info *I, owner Owner[I], data []byte) Ref[I] {
	return Ref[I]{info: info, owner: owner, data: Hide(data)}
}

// Info returns the description, nil for the zero Ref.
func (r *Ref[I]) Info() *I { return r.info }

// Owner returns the owner.
func (r *Ref[I]) Owner() Owner[I] { return r.owner }

// Data returns the bytes that are in memory, nil when they must be loaded.
func (r *Ref[I]) Data() []byte { return r.data.Bytes() }
