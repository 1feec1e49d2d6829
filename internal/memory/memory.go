// Package memory implements the references behind tensor views: a description, an owner
// that keeps the bytes alive, and the bytes if they are in memory. Package tensor adds the
// public methods; only this module can create a reference.
package memory

import "context"

// Owner owns the bytes of views: a mapping, a buffer or a reader. I is the description
// of a tensor. All methods are safe for concurrent use.
type Owner[I any] interface {
	// Enter keeps the memory mapped until Leave; Close waits. It fails after Close
	// began, and if the checksum of the bytes, which is verified before their first
	// use, does not match.
	Enter(*I) error
	// Leave ends what Enter began.
	Leave()
	// Expose is called before a raw slice is returned to the user; it fails as Enter and Show do.
	// From then on only Close unmaps, not the garbage collector, since the lifetime of
	// the slice is unknown.
	Expose(info *I, b []byte) error
	// Load returns the bytes of a tensor that is not in memory, in aligned heap
	// memory that is never written again. Call it between Enter and Leave.
	Load(*I) ([]byte, error)
	// Ranged reports whether copies of a tensor are read with ReadAt: because that costs less than
	// Load, or because the bytes in memory may be shown but not copied: see Show.
	Ranged(*I) bool
	// Show is called between Enter and Leave before bytes of a tensor that are in memory are used in place. It fails
	// if they are not those that a signature covers.
	Show(b []byte) error
	// ReadAt fills p with the bytes of the tensor from off on. Call it between Enter
	// and Leave. Reads from a remote source stop when the context is done.
	ReadAt(ctx context.Context, info *I, p []byte, off int64) error
	// Holds reports whether an address lies in the owner's memory.
	Holds(addr uintptr) bool
	// Fault returns the error for a fault at an address in the owner's memory.
	Fault(addr uintptr) error
	// Explain adds format, file and tensor to an error that lacks them.
	Explain(info *I, err error) error
}

// Advice is a request about bytes in an Advisor's memory.
type Advice int

const (
	Prefetch Advice = iota // start reading them
	Populate               // map them now: a page fault would occupy a processor while the disk reads
	Evict                  // unmap their pages
	Resident               // count those in physical memory; -1 if unknown
	Lock                   // keep them in physical memory until Close
)

// PopulateStep is the number of bytes populated at a time: enough to hide the cost of the system call, and
// few enough that they are still in memory when they are read.
const PopulateStep = 256 << 10

// Advisor is the Owner of a model. b is part of its memory. Advise does not verify checksums.
type Advisor interface {
	Advise(a Advice, b []byte) (int64, error)
	// Workers returns the number of goroutines that decode a tensor, 0 for one per processor.
	Workers() int
}

// Failed owns views that were returned with an error. Explain returns that error in place of any other, such
// as a wrong dtype.
type Failed[I any] struct{ Err error }

func (f Failed[I]) Enter(*I) error          { return f.Err }
func (f Failed[I]) Leave()                  {}
func (f Failed[I]) Expose(*I, []byte) error { return f.Err }
func (f Failed[I]) Load(*I) ([]byte, error) { return nil, f.Err }
func (f Failed[I]) Ranged(*I) bool          { return false }
func (f Failed[I]) Show([]byte) error       { return f.Err }
func (f Failed[I]) Holds(uintptr) bool      { return false }
func (f Failed[I]) Fault(uintptr) error     { return f.Err }
func (f Failed[I]) Explain(*I, error) error { return f.Err }
func (f Failed[I]) ReadAt(context.Context, *I, []byte, int64) error {
	return f.Err
}

// Ref refers to a tensor; tensor.View is based on it. The zero Ref has no tensor.
type Ref[I any] struct {
	_     [0]func() // makes views incomparable
	info  *I
	owner Owner[I]
	data  Hidden
}

// New returns a reference to a tensor. data holds its bytes, or is nil if the owner must
// load them. info must not change afterwards.
func New[I any](info *I, owner Owner[I], data []byte) Ref[I] {
	return Ref[I]{info: info, owner: owner, data: Hide(data)}
}

// Info returns the description, or nil for the zero Ref.
func (r *Ref[I]) Info() *I { return r.info }

// Owner returns the owner.
func (r *Ref[I]) Owner() Owner[I] { return r.owner }

// Data returns the bytes, or nil if they must be loaded.
func (r *Ref[I]) Data() []byte { return r.data.Bytes() }

// IsRead reports whether the bytes are in memory, but copies of them are read.
func (r *Ref[I]) IsRead() bool { return r.Data() != nil && r.owner.Ranged(r.info) }
