package format

import (
	"context"
	"iter"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
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
	place   place         // where its file is
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

// Path returns the path that the model was opened by, "" for bytes and readers.
func (m *Model) Path() string { return m.engine().Path() }

// Files returns the paths of all files of the model: that of Path, then shards, the files of a
// directory, and external data, even if it is missing. tensor.Info.File is an index of it. It is nil for bytes and
// readers, whose files Stats lists.
func (m *Model) Files() []string { return m.engine().Files() }

// Metadata returns a copy of the file's key-value pairs, in file order: none for formats without metadata. Metadata that
// does not fit Options.MaxMemory is ErrLimit.
func (m *Model) Metadata() (schema.Metadata, error) { return m.engine().Metadata() }

// Value returns the value of a metadata key: the first, if the file repeats it. The error is ErrNotFound if there is none. It
// costs one value, where Metadata costs all of them.
func (m *Model) Value(key string) (any, error) { return m.engine().Value(key) }

// Len returns the number of tensors that have data.
func (m *Model) Len() int { return m.engine().Index().Len() }

// Tensor returns the tensor with the given name. The error is ErrNotFound if there is none, and ErrClosed
// after Close; a view that comes with an error returns it from all its accessors. Tensor takes some
// tens of nanoseconds and does not allocate.
func (m *Model) Tensor(name string) (tensor.View, error) { return m.engine().Tensor(name) }

// Tensors iterates over the tensors by name, in the order of their records in the file. The view of a tensor in a
// missing file returns that error from all its accessors.
func (m *Model) Tensors() iter.Seq2[string, tensor.View] { return m.engine().Tensors() }

// At returns tensor i in file order, for 0 <= i < Len. The view of any other i returns ErrNotFound.
func (m *Model) At(i int) tensor.View { return m.engine().At(i) }

// Graph returns the operator graph, nil if the file has none. It may be shared with other callers: to
// change it, use Clone.
func (m *Model) Graph() (*schema.Graph, error) { return m.engine().Graph() }

// Native returns what only the format of the file can store, nil for nothing. Each call reads it
// from the file.
func (m *Model) Native() (*schema.Native, error) { return m.engine().Native() }

// Notes lists irregularities of the file that are not errors, such as "header checksum not recorded", and says if it is
// a part of a model.
func (m *Model) Notes() []string {
	notes := m.engine().Notes()
	if p := m.part(); p.Count > 0 {
		notes = append([]string{p.String()}, notes...)
	}
	return notes
}

// Signature returns what the file states about its signature, nil if it is unsigned. It does not tell
// whether the signature is valid: Verify and CheckClaim do.
func (m *Model) Signature() *schema.Signature { return m.engine().Signature() }

// CheckClaim checks that the key in the file (Signature.PublicKey) made the signature over the hash or digests that the
// file records, without comparing these with its data: Verify does both. Otherwise the error is ErrSignature. It is nil
// for an unsigned file and for one that names no key. Anybody can sign: only a trusted key says who did.
func (m *Model) CheckClaim() error { return m.engine().CheckClaim() }

// NeedsKey reports whether the data is encrypted and Options.Key was not set.
func (m *Model) NeedsKey() bool { return m.engine().NeedsKey() }

// Verify computes every checksum of the file, checks that all data is present and that the structure did not
// change since it was read, and returns which checksum covers what. With a trusted key (WithTrustedKey) the file must be
// signed by it; without one, a signature must be one that the key in the file made, if there is a key. If no tensor was requested before, the pages that Verify reads are evicted again.
//
// Files that caches name by their digests, and targets of links with such names, are hashed and compared too, unless
// WithTensors selects tensors: sha256-HEX (Ollama), and in a directory blobs 64 hex digits (SHA-256) or 40 (SHA-1 of a
// blob of git). Elsewhere 64 hex digits in a name are compared, and a note says if they match. The formats that
// such caches have link both hashes; in a program without them a note says that the digest was not compared.
//
// Errors wrap ErrChecksum, ErrTruncated, ErrCorrupt, ErrSignature, ErrKey (encrypted data without
// its key), ErrNotFound (a name in WithTensors), ErrClosed, or the error of the context.
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
	return m.engine().LoadAll(ctx, requests, progress)
}

// Do calls f and guards its use of raw slices of the model's tensors (View.Bytes, tensor.As). Close waits until
// f returns. If f reads bytes that a file lost because it was cut short, f ends there and Do returns
// ErrTruncated, which names the tensor. Calls of Do and View.Use nest; f must not call Close.
//
// The guard covers the calling goroutine only: a goroutine that f starts must call Do itself, or a
// fault in it ends the process. A system call with missing bytes as its argument returns EFAULT to f.
func (m *Model) Do(f func() error) error { return m.engine().Do(f) }

// Pin keeps raw slices valid across Close: Close returns, and the last unpin unmaps the file.
// Further calls of an unpin do nothing.
func (m *Model) Pin() (unpin func(), err error) { return m.engine().Pin() }

// Prefetch asks the system to read the files ahead. It returns before they are read.
func (m *Model) Prefetch() error { return m.engine().Prefetch() }

// Evict reduces the memory of the process: it unmaps the pages of the mapped files and drops cached and
// decoded tensors. Raw slices stay valid; what is used again is mapped again, mostly from the page cache, or
// decoded again. Locked pages stay (Options.Lock), and on systems other than Linux and Android all
// mapped pages do.
func (m *Model) Evict() error { return m.engine().Evict() }

// Close makes further access return ErrClosed, waits for running calls such as View.Use, Do and Verify, and
// unmaps the file. A function that such a call runs must not call Close, which would wait for it
// forever; the body of a loop over Tensors may. A second Close does nothing.
func (m *Model) Close() error { return m.engine().Close() }

// RestoreNames sets the tensor names in p, a schema of this model (Model.Schema), to those that the tensors had before
// the format numbered them, if the file has stored them (WriteOptions.KeepNames). It removes the metadata that every file of
// the format has, where they say nothing: a copy in the format has them again.
func (m *Model) RestoreNames(p *schema.Schema) error {
	restore := m.engine().Parsed().Restore
	if restore == nil {
		return nil
	}
	return m.Do(func() error { restore(p); return nil })
}

// Stats returns the memory that the model uses, and how many tensors are zero-copy.
func (m *Model) Stats() Stats { return m.engine().Stats() }
