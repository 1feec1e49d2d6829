package driver

import (
	"bytes"
	"io"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Driver implements a format. It holds no state of open files; its methods are called
// concurrently.
type Driver interface {
	// Describe returns the same Description every time.
	Describe() Description
	// Detect reports whether a file of size bytes that begins with head (up to
	// SniffLen bytes) has this format, even if it is damaged.
	Detect(head []byte, size int64) bool
	// Parse reads the structure of the file src, adds its tensors to x and returns the
	// rest, or nil if there is nothing else. It runs under a guard: opening fails if the
	// file is cut short meanwhile. src stays valid for the functions of Parsed until the
	// model is closed. During Parse, Slice returns private memory; later it may alias the
	// mapping: what Parse has checked is read again with ReadAgain, or not at all.
	Parse(src Source, x *Index, o *ParseOptions) (*Parsed, error)
}

// SniffLen is the number of bytes that Detect gets. The magic of a tar archive ends there.
const SniffLen = 262

// Description describes a format.
type Description struct {
	// Name is the format's name in Open, Create and errors: "mag".
	Name string
	// Extensions lists the usual file name extensions, such as ".mag".
	Extensions []string
	// CheckOnTouch makes CheckDefault verify checksums before the first use of the
	// data they cover.
	CheckOnTouch bool
	// TakeValue converts a value of a schema's metadata to a type that the format stores, for
	// formats with more number types than int64 and float64. Nil means Number.
	TakeValue func(v any) any
	// Stores says which options of WriteOptions the format has.
	Stores Features
}

// DirParser is a Driver whose models may be directories.
type DirParser interface {
	// ParseDir is Parse for a directory.
	ParseDir(dir Dir, x *Index, o *ParseOptions) (*Parsed, error)
}

// Parsed is the result of a parser, apart from the Index. Every field may be zero. The
// functions must be safe for concurrent use; the engine calls them under its guard, and never
// after Close.
type Parsed struct {
	// Own is a value for the format's package, which gets it back with format.Model.Own.
	Own any
	// Metadata has the key-value pairs in file order.
	Metadata schema.Metadata
	// Graph is the operator graph, nil for none. It must not be modified.
	Graph *schema.Graph
	// Notes lists tolerated oddities, such as "header checksum not recorded". The
	// engine adds a note about misaligned tensors.
	Notes []string
	// Signature is nil for an unsigned file.
	Signature *schema.Signature
	// Part and Parts say that the file is part Part, from 1, of a model of Parts files which are
	// not open. Part is 0 if the others are open too. Both are 0 if the file does not say.
	Part, Parts int
	// HeaderSize, DataOffset and Alignment describe the model's own file, for Stats: how many bytes
	// precede the data and the padding before it, where data begins, and what the offsets of all
	// tensors are multiples of. They are 0 for a format that does not say; the engine then takes
	// the first tensor's offset for DataOffset.
	HeaderSize, DataOffset, Alignment int64
	// NeedsKey means that the data is encrypted and the options have no key.
	NeedsKey bool

	// LazyMetadata returns the Metadata of a format that decodes it on demand.
	LazyMetadata func() (schema.Metadata, error)
	// LazyNotes returns further Notes, which take decoding.
	LazyNotes func() []string
	// LazyValue returns the first value of a key of LazyMetadata without decoding the others, and
	// whether there is one. It is nil for formats where that costs no less.
	LazyValue func(key string) (value any, ok bool, err error)

	// Docs returns what the file says about its parts in words, as Schema.Docs has it. It is nil
	// for formats without.
	Docs func() ([]schema.Doc, error)
	// Native returns a copy of the contents that only this format can store, nil for nothing.
	Native func() (*schema.Native, error)
	// Restore restores the original names in p (WriteOptions.KeepNames) and removes the
	// entries that stored them, and those that every file of the format has and that say nothing.
	Restore func(p *schema.Schema)
	// RecordAt returns the offset of tensor i's description in the model's file. Errors
	// name it if the data is in another file that is missing or too short.
	RecordAt func(i int) int64

	// Load returns the little-endian bytes of tensor i (Tensor.Loaded), exactly its size,
	// in heap memory that does not change, aligned for its dtype. Calls for the same tensor do
	// not overlap; the result is cached until Evict or Close. The engine counts its size in
	// ParseOptions.Memory before the call.
	Load func(i int) ([]byte, error)
	// Stream writes the bytes that Load would return to w, piece by piece, and fails if Load
	// would.
	Stream func(i int, w io.Writer) error
	// Shares reports whether Load returns memory for tensor i that the format has counted.
	Shares func(i int) bool
	// Section is the data that tensors for which Shares is true are parts of, nil for formats
	// without such data.
	Section Section

	// Sums returns the checksums of the parts of the file, other than single tensors, and its parts
	// without a checksum. The engine calls it once, when it needs them.
	Sums func() []Sum
	// SumsOf returns the range of the Sums that cover tensor i; it is empty if there are none. Sums
	// that cover no tensor are compared in every verification. It is called after Sums.
	SumsOf func(i int) (from, to int)
	// TensorSum returns the checksum that covers the data of tensor i only. Its Kind is NoSum if
	// there is none. Of tensors without any checksum the engine verifies that the bytes exist.
	TensorSum func(i int) Digest
	// Authenticate checks that v.Trusted signed the file. It passes the bytes that the signature
	// covers to a hash with v.Feed, which fails with ErrSignature while the model is opened if
	// these are not the bytes that Parse read. It also checks data in other files, with checksums
	// that the signature covers; data without one is ErrSignature. A format without Authenticate
	// rejects TrustKey.
	Authenticate func(v Verification) error
	// CheckClaim returns ErrSignature if the file is signed and names a key (Signature.PublicKey)
	// that did not make the signature over the hash or digests that the file records. It reads no
	// data, and compares nothing with them: Verify does both. Nil for a format without signatures.
	CheckClaim func() error

	// Close frees memory of the format, such as decrypted sections, when the model is no longer
	// used.
	Close func() error
}

// Section is data that is compressed as a whole and holds several tensors.
type Section interface {
	// SectionAt returns where tensor i begins in what StreamSection writes.
	SectionAt(i int) int64
	// StreamSection writes the decompressed data piece by piece.
	StreamSection(w io.Writer) error
}

// UnknownSize is the size of a file of which only the beginning is there. A format whose header
// says where the file ends takes that for its size.
const UnknownSize = 1 << 60

// Source is a file being read. Its methods are safe for concurrent use. Ranges
// beyond the end of the file are ErrTruncated, negative ones ErrCorrupt.
type Source interface {
	// Size returns the number of bytes of the file, or UnknownSize.
	Size() int64
	// Path returns the name the file was opened by: a path, or the name of a reader
	// (format.ReaderInfo) that has the files next to it. It returns "" for bytes and other readers.
	Path() string
	// InMemory reports whether Slice aliases memory and does not copy: the file is mapped,
	// or bytes. It is false for files that are read on demand and, for all files, during
	// Parse, which reads files and does not access mappings.
	InMemory() bool
	// Slice returns n bytes at off. If InMemory, they alias the file and are valid
	// until the model is closed; a goroutine that the format starts must not read them,
	// as no guard covers it. Otherwise they are copied to new memory, which is
	// allocated only if the bytes exist. The engine hashes what Slice and ReadAt return
	// during Parse; Verify reads these ranges again and fails with ErrCorrupt if they
	// have changed.
	Slice(off, n int64) ([]byte, error)
	// ReadAt implements io.ReaderAt, guarded against files that are cut short. During
	// Parse the first 16 KiB of a mapped file are read once; beyond them, each call is
	// a system call.
	ReadAt(p []byte, off int64) (int, error)
	// ReadAhead is like ReadAt but does not record the bytes for Verify, as they may be
	// tensor data. See Head.
	ReadAhead(p []byte, off int64) (int, error)
	// Record records for Verify those of the bytes of ReadAhead that are structure.
	Record(b []byte, off int64) error
	// ReadAgain is like ReadAt for structure that Parse has read, after Parse: it fails with
	// ErrCorrupt if the file has other bytes by now. So a format need not keep what is large and
	// rarely used, such as a vocabulary. See ReadAgain.
	ReadAgain(p []byte, off int64) (int, error)
	// Compare compares a checksum while Parse or Load runs: with b, which was read at off and which
	// contains all ranges of the checksum, or which is its content. It returns the number of the
	// digest that is right, where those of Or follow those before. If Options.Check leaves
	// checksums out, it compares nothing and returns -1.
	Compare(s *Sum, b []byte, off int64) (form int, err error)
	// Dir returns the directory of the model's other files: that of the file, or
	// Options.Dir. It fails with ErrUnsupported if there is none. A Dir that is
	// returned with an error still accepts Declare; using a declared file returns
	// the error.
	Dir() (Dir, error)
}

// Private returns n bytes of src at off in private memory, during Parse and later.
func Private(src Source, off, n int64) ([]byte, error) {
	b, err := src.Slice(off, n)
	if err == nil && src.InMemory() {
		b = bytes.Clone(b)
	}
	return b, err
}

// Peek is like Prefix for bytes that may be tensor data: they are not recorded as structure.
func Peek(src Source, n int64) ([]byte, error) {
	b := make([]byte, min(n, src.Size()))
	_, err := src.ReadAhead(b, 0)
	return b, err
}

// Prefix returns the first n bytes of src, or all if it has fewer.
func Prefix(src Source, n int64) ([]byte, error) { return src.Slice(0, min(n, src.Size())) }

// Space numbers the files of a model. The zero Space is the file itself.
type Space uint32

// DirEntry is a file of a directory.
type DirEntry struct {
	Name string // without the directory
	// Regular means that it is a regular file, or a link to one.
	Regular bool
	// Dir means that it is a directory.
	Dir bool
	// Err is the error of a link that leads nowhere, or out of the directory.
	Err error
}

// Dir is a directory with files of a model. Names are slash-separated paths
// relative to it. Names and links cannot lead out of it, except as Options.Root allows.
type Dir interface {
	// Path returns the directory's name.
	Path() string
	// Entries lists the directory, sorted by name.
	Entries() ([]DirEntry, error)
	// Expect announces files that Open or Peek is called for next. Under Options.Trusted they are
	// hashed then, on several goroutines. What is wrong with a file is the error of opening it.
	Expect(names []string)
	// Open opens a file now. Tensors may be placed in its space.
	Open(name string) (Source, Space, error)
	// Peek reads the first len(p) bytes of a file, or all of a shorter one, and declares the file
	// as Declare does. It returns the number of bytes read and the size of the file.
	Peek(name string, p []byte) (n int, size int64, s Space, err error)
	// Declare announces a file that is opened when a tensor in its space is first
	// used. Using it fails if the file has been replaced since, or if it is missing
	// now, inaccessible or not a regular file. Declare itself fails only for passing errors of
	// the system, such as too many open files.
	Declare(name string) (Space, error)
	// View returns a view of a tensor that is not in the Index, such as an attribute of
	// a node: info.Size bytes at info.Offset of a space, which is mapped when the view
	// is first used. Its checksum is not verified before first use, and the view is
	// never zero-copy. Its accessors return any error.
	View(s Space, info *tensor.Info) tensor.View
}

// Tensor is the argument of Index.Add: a tensor.Info whose name may alias the file.
type Tensor struct {
	Name        []byte               // must pass CheckName; the engine does not check it
	DType       tensor.DType         // Invalid with an Encoding
	Shape       tensor.Shape         // is copied
	Space       Space                // the file that the data is in
	Offset      int64                // in that file; -1 if the data is stored in another form
	Size        int64                // of the uncompressed elements
	Stored      int64                // as in tensor.Info; without Compression it is ignored
	Compression string               // as in tensor.Info
	Quant       *tensor.Quantization // nil for none
	Encoding    *tensor.Encoding     // of elements without a DType, which is Invalid then
	Loaded      bool                 // the bytes come from Parsed.Load, not from Offset
}
