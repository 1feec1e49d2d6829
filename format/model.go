package format

import (
	"context"
	"iter"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Model is an open model file of any format. Its methods are safe for
// concurrent use, Close included. The zero Model is closed.
type Model struct {
	m       load.Model
	file    source.Region // of a model that was opened by its path
	memory  driver.Memory // what it takes
	opening load.Config   // how it was opened
}

// dead is what the zero Model is.
var dead = load.Dead()

func (m *Model) engine() *load.Model {
	if m == nil || !m.m.IsOpen() {
		return dead
	}
	return &m.m
}

// Format returns the registered name, "mag".
func (m *Model) Format() string { return m.engine().Format() }

// Version returns the version of the format that the file has, "1".
func (m *Model) Version() string { return m.engine().Index().Version }

// Path returns the name the model was opened by, "" for bytes and readers.
func (m *Model) Path() string { return m.engine().Path() }

// Files returns the paths of all files that the model has or names, that of Path first:
// shards, the files of a directory, external data, whether it is there or not. It is
// nil for bytes and readers.
func (m *Model) Files() []string { return m.engine().Files() }

// Metadata returns the file's key-value pairs in file order, in memory of the
// caller's. It is empty after Close, and for formats without metadata.
func (m *Model) Metadata() Metadata {
	meta, _ := m.engine().Metadata()
	return meta
}

// Len returns the number of tensors that have data.
func (m *Model) Len() int { return m.engine().Index().Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none, ErrClosed after Close.
// It takes some tens of nanoseconds and does not allocate. A view that comes
// with an error repeats that error from all its accessors.
func (m *Model) Tensor(name string) (tensor.View, error) { return m.engine().Tensor(name) }

// Tensors walks the tensors in file order, which is that of their records. A
// tensor that cannot be reached, in a file that is missing, has a view that says why.
func (m *Model) Tensors() iter.Seq2[string, tensor.View] { return m.engine().Tensors() }

// views walks the tensors in file order.
func (m *Model) views(yield func(tensor.View) bool) {
	for i := 0; i < m.Len() && yield(m.At(i)); i++ {
	}
}

// At returns tensor i in file order, 0 <= i < Len; the view for any other i
// answers ErrNotFound.
func (m *Model) At(i int) tensor.View { return m.engine().At(i) }

// Graph returns the neutral form of the operator graph, nil when the file has
// none. It may be shared: change a Clone of it.
func (m *Model) Graph() (*Graph, error) { return m.engine().Graph() }

// Native returns what the file says that only its format has a place for, nil for nothing. It
// is read anew each time.
func (m *Model) Native() (*Native, error) { return m.engine().Native() }

// Notes lists what is tolerable but worth knowing about the file, such as
// "header checksum not recorded".
func (m *Model) Notes() []string { return m.engine().Notes() }

// Signature returns nil for an unsigned file. It says who claims to have
// signed, not that the signature is valid: Verify does that.
func (m *Model) Signature() *Signature { return m.engine().Signature() }

// NeedsKey reports whether data is encrypted and Options.Key was not given.
func (m *Model) NeedsKey() bool { return m.engine().NeedsKey() }

// Verify checks every checksum the file carries and that all its data is there,
// and says what was covered by which sum and what by none. If no tensor of the model was
// requested before, the pages that it reads do not stay in memory (see Evict). With a trusted key
// the file must be signed by it. Errors wrap ErrChecksum, ErrTruncated,
// ErrCorrupt, ErrSignature, ErrKey (encrypted data without its key),
// ErrNotFound (a name in WithTensors), ErrClosed, or the context's error.
func (m *Model) Verify(ctx context.Context, opts ...VerifyOption) (*Coverage, error) {
	o, err := verifyOptions(opts)
	if err != nil {
		return nil, err
	}
	c, err := m.engine().Verify(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Coverage{c, m.engine().Index()}, nil
}

// Do runs f while Close waits. When f touches bytes of any tensor of the model
// that are no longer there, because a file was cut short, f ends there and Do
// returns ErrTruncated naming the tensor. So f may use raw slices of several
// tensors (View.Bytes, tensor.As) without the risk that they carry elsewhere. Calls
// nest, with each other and with View.Use; f must not call Close.
//
// The guard is that of the calling goroutine: one that f starts is not covered, and
// a fault in it ends the process unless it calls Do itself. A system call that is
// handed missing bytes returns EFAULT, which f sees as an error of that call.
func (m *Model) Do(f func() error) error { return m.engine().Do(f) }

// Pin holds the memory across Close: Close returns, but slices stay valid
// until the last unpin. unpin may be called more than once.
func (m *Model) Pin() (unpin func(), err error) { return m.engine().Pin() }

// Prefetch asks the system to read the files ahead.
func (m *Model) Prefetch() error { return m.engine().Prefetch() }

// Evict takes the pages of the mappings from the process, which counts them as its
// memory once they were read, and forgets the copies of tensors that were decoded or
// cached. Nothing else changes: slices of them stay valid, and what is used again is mapped
// again, mostly from the system's cache, or decoded again. On systems other than Linux and
// Android mappings stay as they are, and so does what Options.Lock holds.
func (m *Model) Evict() error { return m.engine().Evict() }

// Close forbids further access, waits for running calls, such as View.Use, Do and Verify, and
// unmaps the file. A function that one of them calls must not close the model: Close would wait
// for it. Between two steps of Tensors it may be called. A second Close does nothing.
func (m *Model) Close() error { return m.engine().Close() }

// RestoreNames puts the names that tensors had before the format numbered them back into
// p, a plan of this model (PlanOf), where the file has stored them (WriteOptions.KeepNames).
func (m *Model) RestoreNames(p *Plan) error {
	restore := m.engine().Parsed().Restore
	if restore == nil {
		return nil
	}
	return m.Do(func() error { restore(p); return nil })
}

// Stats says what the model takes and how it hands out its tensors.
func (m *Model) Stats() Stats {
	s := m.engine().Stats()
	return Stats{
		Path: m.Path(), FileSize: s.FileSize, Mapped: s.Mapped, Heap: s.Heap, OnDemand: s.OnDemand, Resident: s.Resident, Locked: s.Locked,
		Kept: s.Kept, ZeroCopy: s.ZeroCopy, Copies: s.Copies, Lent: s.Lent, Verified: s.Verified,
	}
}

// Stats is a report on an open model. Sizes are in bytes. After Close all is zero
// but Resident, which is -1.
type Stats struct {
	Path string
	// FileSize is that of all files of the model that are open, or of which the beginning was read.
	FileSize int64
	// Mapped is how much of it is mapped, Heap how much is held in memory: bytes of the
	// caller, systems and file systems that cannot map.
	Mapped, Heap int64
	// OnDemand is how much is neither, and read when it is asked for: behind a reader, or of
	// files that there was no room to map.
	OnDemand int64
	// Resident is how much of Mapped and Heap the process has in physical memory now, which
	// is what Evict gives back; -1 when the system does not say. What only the
	// system's cache has is not counted.
	Resident int64
	// Locked is how much is locked in physical memory (Options.Lock).
	Locked int64
	// Kept is the size of the copies that are held: decompressed, decrypted and
	// misaligned tensors that were used, and the cache (Options.CacheBytes).
	Kept int64
	// ZeroCopy counts the tensors that are handed out without a copy, Copies the
	// others, by reason: "compressed", "encrypted", "misaligned", "byte order",
	// "behind a reader", "read on demand", "decoded".
	ZeroCopy int
	Copies   map[string]int
	// Lent says that a raw slice left the library: only Close unmaps from then on.
	Lent bool
	// Verified counts the sums of tensors that were compared, on first touch too.
	Verified int64
}
