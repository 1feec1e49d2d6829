package driver

import (
	"bytes"
	"crypto"
	"io"

	"github.com/weightmap/weightmap/tensor"
)

// Driver is a format. It holds no state of open files; its methods are called
// concurrently.
type Driver interface {
	// Describe returns the same Description every time.
	Describe() Description
	// Detect reports whether a file that begins with head (up to SniffLen
	// bytes) and has size bytes is of this format, whole or broken.
	Detect(head []byte, size int64) bool
	// Parse reads the structure of the file src into x and returns what else the file
	// has, nil for nothing. It runs under a guard: a file that is cut short meanwhile
	// fails the open. src stays valid for the functions of Parsed until the model is
	// closed. During Parse, Slice returns private memory; later it may alias the
	// mapping: what was checked must not be read again.
	Parse(src Source, x *Index, o *Options) (*Parsed, error)
}

// SniffLen is how many bytes Detect looks at: what a tar archive is recognized by ends there.
const SniffLen = 262

// Description is what is known of a format before a file is opened.
type Description struct {
	// Name is the format's name in Open, Create and errors: "mag".
	Name string
	// Extensions lists the usual file name endings, ".mag".
	Extensions []string
	// CheckOnTouch says that sums are checked before the first use of the data
	// they cover when the caller has not said when (CheckDefault).
	CheckOnTouch bool
	// TakeValue returns a value of a plan's metadata as the format has it, for a format that
	// has more kinds of numbers than int64 and float64. Nil means Number.
	TakeValue func(v any) any
}

// DirParser is a Driver whose models may be directories.
type DirParser interface {
	// ParseDir is Parse for a directory.
	ParseDir(dir Dir, x *Index, o *Options) (*Parsed, error)
}

// Parsed is what a parser returns beside the Index: data, and the few functions that
// only this format has. Everything may be zero. The functions must be safe for concurrent
// use; the engine calls them under its guard, and none after Close.
type Parsed struct {
	// Own is the format's own value, which its package finds again with Codec.Own.
	Own any
	// Metadata has the key-value pairs in file order.
	Metadata Metadata
	// Graph is the operator graph in neutral form, nil for none. Nobody may change it.
	Graph *Graph
	// Notes lists tolerable oddities, such as "header checksum not recorded". The
	// engine itself counts misaligned tensors.
	Notes []string
	// Signature is nil for an unsigned file.
	Signature *Signature
	// NeedsKey says that the data is encrypted and the options have no key.
	NeedsKey bool

	// LazyMetadata, LazyGraph and LazyNotes are for formats that decode on demand.
	LazyMetadata func() (Metadata, error)
	LazyGraph    func() (*Graph, error)
	LazyNotes    func() []string

	// Native returns a copy of what only this format has a place for, nil for nothing.
	Native func() (*Native, error)
	// Restore puts back into a plan the names that the model had before its format
	// gave it others (WriteOptions.KeepNames), and removes the entries that stored them.
	Restore func(p *Plan)
	// RecordAt returns the offset in the model's file of what describes tensor i. Errors
	// about data in another file name it when that file is missing or too short.
	RecordAt func(i int) int64

	// Load returns the little-endian bytes of tensor i (Tensor.Loaded), exactly its size,
	// in heap memory that does not change, aligned for its dtype. Calls for one tensor do
	// not overlap; the result is cached until Evict or Close. The engine has counted
	// its size in Options.Memory.
	Load func(i int) ([]byte, error)
	// Stream writes the bytes that Load returns to w, piece by piece, and fails when Load
	// would.
	Stream func(i int, w io.Writer) error
	// Shares reports whether Load returns memory for tensor i that the format has counted itself.
	Shares func(i int) bool

	// TensorSum returns the checksum that covers the data of tensor i alone; its Kind is
	// NoSum when there is none.
	TensorSum func(i int) Sum
	// Verify checks the checksums that cover more than one tensor. The engine does not look
	// again at tensors for which it called v.Cover; of the others it checks the TensorSum or,
	// where there is none, that the bytes exist.
	Verify func(v Verification) error
	// Touch checks whatever covers tensor i before its first use; all says that the
	// other tensors are covered too. The engine does not call it again for tensors that passed;
	// calls do not overlap.
	Touch func(v Verification, i int) (all bool, err error)
	// Authenticate checks that v.Trusted signed the file, and hashes with v.Feed what
	// the signature covers. While the file is opened, Feed takes what Parse read from the
	// memory that Parse got it in. A format without Authenticate refuses Options.Trusted.
	Authenticate func(v Verification) error

	// Close frees what the format keeps, such as decrypted sections, once nobody uses the model.
	Close func() error
}

// Source is a file being read. Its methods are safe for concurrent use. Ranges
// that leave the file are ErrTruncated, negative ones ErrCorrupt.
type Source interface {
	// Size returns the number of bytes of the file.
	Size() int64
	// Path returns the name the file was opened by, "" for bytes and readers.
	Path() string
	// InMemory reports whether Slice costs nothing: the file is mapped, or bytes. During
	// Parse no file is: it is read, so that opening touches nothing of a mapping. What is
	// read on demand never is.
	InMemory() bool
	// Slice returns n bytes from off. In memory they alias the file and are valid
	// until the model is closed; else they are in fresh memory that is not
	// allocated before the bytes are known to exist. The engine keeps a hash of what
	// Slice and ReadAt return during Parse; Verify reads these ranges again and fails
	// with ErrCorrupt when they changed.
	Slice(off, n int64) ([]byte, error)
	// ReadAt implements io.ReaderAt, guarded against files that are cut short. During
	// Parse the first 16 KiB of a mapped file are read once; beyond, each call is
	// one system call.
	ReadAt(p []byte, off int64) (int, error)
	// ReadAhead is ReadAt of bytes that may turn out to be data, which Verify does not
	// compare. Record adds what was structure of them. See Head.
	ReadAhead(p []byte, off int64) (int, error)
	Record(b []byte, off int64) error
	// Guard runs fn, which reads bytes of Slice, and turns a fault into
	// ErrTruncated. Methods called by the engine are guarded already;
	// goroutines they start are not.
	Guard(fn func() error) error
	// Dir returns the directory that other files of the model are in: that of
	// the file, or Options.Dir. It fails with ErrUnsupported when there is none.
	// A Dir that comes with an error still takes declarations, and using
	// what was declared repeats the error.
	Dir() (Dir, error)
}

// Private returns n bytes from off of src in memory that nobody else changes, whether it
// is being parsed or not.
func Private(src Source, off, n int64) ([]byte, error) {
	b, err := src.Slice(off, n)
	if err == nil && src.InMemory() {
		b = bytes.Clone(b)
	}
	return b, err
}

// First fills p with the first bytes of src, all of a shorter one, and returns them.
func First(src Source, p []byte) ([]byte, error) {
	p = p[:min(int64(len(p)), src.Size())]
	_, err := src.ReadAt(p, 0)
	return p, err
}

// Prefix returns the first n bytes of src, or all when it has fewer.
func Prefix(src Source, n int64) ([]byte, error) { return src.Slice(0, min(n, src.Size())) }

// Space numbers the files of a model. The zero Space is the file itself.
type Space uint32

// DirEntry is a file of a directory.
type DirEntry struct {
	Name string
	// Regular says that it is a regular file, or a link to one.
	Regular bool
	// Err says why a link cannot be followed: it leads nowhere, or out of the directory.
	Err error
}

// Peek is what is known of a file of which only the beginning was read.
type Peek struct {
	Head  []byte
	Size  int64
	Space Space
	Err   error
}

// Dir is a directory with files of a model. Names are slash-separated paths
// below it; nothing outside of it can be reached, not through links either.
type Dir interface {
	// Path returns the directory's name.
	Path() string
	// Entries lists what is in it, sorted by name.
	Entries() ([]DirEntry, error)
	// Open opens a file now. Tensors may be placed in its space.
	Open(name string) (Source, Space, error)
	// Peek reads the first n bytes of each file, all of one that is shorter, and declares
	// it as Declare does: it is mapped when a tensor in it is first used, and has to
	// be the one that was read then. A file that cannot be read has an error of its own.
	Peek(names []string, n int) ([]Peek, error)
	// Declare announces a file that is opened when a tensor in its space is first
	// used. The file that is there now is remembered: another one that took
	// its place by then is an error. A file that is missing now, that the system
	// does not let us reach or that cannot hold data, fails the use, not Declare. That fails where
	// the system could not look, for want of descriptors say.
	Declare(name string) (Space, error)
	// OpenSpace returns the file of a space.
	OpenSpace(s Space) (Source, error)
	// View returns the view of a tensor that is not in the Index, such as that of
	// an attribute of a node: info.Size bytes at info.Offset of a space, which is mapped
	// when the view is first used. No checksum is compared before that, and the view is
	// never zero-copy. Its accessors say what is wrong.
	View(s Space, info *tensor.Info) tensor.View
}

// Signature is what a signed file states about its signature; Model.Verify checks it.
type Signature struct {
	Algorithm string           // "Ed25519", "RSA-SHA256", "ECDSA"
	PublicKey crypto.PublicKey // the key in the file, nil for none
	Timestamp int64            // Unix seconds
}

// Tensor is what Index.Add takes: a tensor.Info whose name may alias the file.
type Tensor struct {
	Name        []byte // legal by CheckName; the engine does not look
	DType       tensor.DType
	Shape       tensor.Shape // usually from Index.Dims; others are copied
	Space       Space        // the file that the data is in
	Offset      int64        // in that file, -1 when the data is not there as such
	Size        int64        // of the tensor itself, shape times dtype
	Stored      int64        // as in tensor.Info; counts only with a Compression, else it is Size
	Compression string       // as in tensor.Info
	Quant       *tensor.Quantization
	Encoding    *tensor.Encoding // of elements that are not of a DType, which is Invalid then
	Loaded      bool             // the bytes come from Parsed.Load, not from Offset
}
