// Package memory implements the references behind tensor views: a description, an owner
// that keeps the bytes alive, and the bytes if they are in memory. Package tensor adds the
// public methods; only this module can create a reference.
package memory

import "github.com/weightmap/weightmap/internal/pass"

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
	// File returns the file that has the bytes of a tensor, and where in it they begin. Copies are
	// read from it, between Enter and Leave. It is nil for bytes that are loaded, and for those in
	// memory of no file.
	File(*I) (f pass.File, off int64)
	// Show is called between Enter and Leave before bytes of a tensor that are in memory are used
	// in place. It fails if they are not those that a signature covers.
	Show(b []byte) error
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
	Evict                  // unmap their pages
	Resident               // count those in physical memory; -1 if unknown
	Lock                   // keep them in physical memory until Close
)

// Advisor is the Owner of a model. b is part of its memory. Advise does not verify checksums.
type Advisor interface {
	Advise(a Advice, b []byte) (int64, error)
	// Workers returns the number of goroutines that decode a tensor, 0 for one per processor.
	Workers() int
}

// Failed owns views that were returned with an error. Explain returns that error in place of any
// other, such as a wrong dtype.
type Failed[I any] struct{ Err error }

func (f Failed[I]) Enter(*I) error          { return f.Err }
func (f Failed[I]) Leave()                  {}
func (f Failed[I]) Expose(*I, []byte) error { return f.Err }
func (f Failed[I]) Load(*I) ([]byte, error) { return nil, f.Err }
func (f Failed[I]) Show([]byte) error       { return f.Err }
func (f Failed[I]) Holds(uintptr) bool      { return false }
func (f Failed[I]) Fault(uintptr) error     { return f.Err }
func (f Failed[I]) Explain(*I, error) error { return f.Err }
func (f Failed[I]) File(*I) (pass.File, int64) {
	return nil, 0
}

// Lazy is the Owner of a reference whose file is mapped when its bytes are first used.
type Lazy[I any] interface {
	Owner[I]
	// Map maps the file, unless it is mapped, and returns the reference to the bytes. Its owner is
	// not Lazy. It is a Failed if the file cannot be mapped.
	Map(*I) Ref[I]
	// IsViewed reports whether the bytes are used in place, as far as that is known before the file
	// is mapped.
	IsViewed(*I) bool
}

// Ref refers to a tensor; tensor.View is based on it. The zero Ref has no tensor.
type Ref[I any] struct {
	_     [0]func() // makes views incomparable
	info  *I
	owner Owner[I]
	data  Hidden // of a Lazy owner its size is negative
}

// New returns a reference to a tensor. data holds its bytes, or is nil if the owner must
// load them. info must not change afterwards.
func New[I any](info *I, owner Owner[I], data []byte) Ref[I] {
	return Ref[I]{info: info, owner: owner, data: Hide(data)}
}

// NewLazy returns a reference to a tensor whose file may not be mapped yet.
func NewLazy[I any](info *I, owner Lazy[I]) Ref[I] {
	return Ref[I]{info: info, owner: owner, data: Hidden{size: -1}}
}

// Info returns the description, or nil for the zero Ref. It does not map a file.
func (r *Ref[I]) Info() *I { return r.info }

// Owner returns the owner of the bytes, whose file it maps if necessary.
func (r *Ref[I]) Owner() Owner[I] {
	if r.data.size < 0 {
		return r.mapped().owner
	}
	return r.owner
}

// Data returns the bytes, or nil if they must be loaded. It maps their file if necessary.
func (r *Ref[I]) Data() []byte {
	if r.data.size < 0 {
		return r.mappedData()
	}
	return r.data.Bytes()
}

// Lazy returns the owner of a file that may not be mapped yet, or nil.
func (r *Ref[I]) Lazy() Lazy[I] {
	if r.data.size < 0 {
		return r.owner.(Lazy[I])
	}
	return nil
}

// mapped returns the reference of a Lazy owner to the bytes.
func (r *Ref[I]) mapped() Ref[I] { return r.Lazy().Map(r.info) }

// mappedData is the slow path of Data, which is inlined without it.
//
//go:noinline
func (r *Ref[I]) mappedData() []byte {
	m := r.mapped()
	return m.data.Bytes()
}
