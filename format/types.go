package format

import (
	"github.com/weightmap/weightmap/format/driver"
)

// Types that programs share with formats and with the engine. They are declared there; the fields and methods
// below are copied.
type (
	// Options changes how a model is opened. Nil and the zero value work. A negative limit or an unknown
	// value is ErrOption.
	//
	//	type Options struct {
	//		// Context cancels opening: reads of an io.ReaderAt and work that takes long. Nil means
	//		// context.Background. An open model does not use it: its methods take a context of their own.
	//		Context context.Context
	//		// Format is the name of the format, "" to detect it by content.
	//		Format string
	//		// Check says which checksums are verified when. Progress and Workers apply to what CheckAll and
	//		// Trusted verify, as in Model.Verify. Workers is also how many goroutines Model.Load and tensor.Decode
	//		// take; 0 means one per CPU.
	//		Check    Check
	//		Progress Progress
	//		Workers  int
	//		// MaxMemory is the limit for the memory that the library allocates for the model, in bytes: the
	//		// index, metadata and graph, decompressed and decrypted data, cached tensors, and files that cannot be
	//		// mapped or are not (Private). Mappings and what the caller owns, such as the result of View.Clone, do not count.
	//		// With 0 there is no such limit, but the structure, above all a graph, may take at most
	//		// 16 MiB plus 16 times its size in the file.
	//		//
	//		// Other limits hold for any MaxMemory: MaxTensors tensors, and MaxStructure bytes that are not data. A
	//		// compressed section may inflate to 256 times its stored size, or 16 MiB if that is more, but to
	//		// no more than 64 MiB (metadata) or 1 GiB (graph). Exceeding a limit is ErrLimit.
	//		MaxMemory int64
	//		// CacheBytes is how many bytes of tensors stay in memory once they were read from an io.ReaderAt, or
	//		// from a file that is read on demand. With 0 each use reads them again.
	//		CacheBytes int64
	//		// Key is the AES-256 key of an encrypted file: 32 bytes, or nil. Any other length is ErrKey.
	//		// Files that are not encrypted ignore it. It is copied, and dropped when the model is closed.
	//		Key []byte
	//		// Trusted says what the files of the model must be: TrustKey for a signature in the file (mle, wia), a
	//		// *signing.Policy for a detached signature of any files, or another Trust. Every file of the model is compared before
	//		// anything of it is used, whatever the model is opened from, and also if it is opened later. A file that is unsigned,
	//		// signed by another key or changed is ErrSignature (ErrChecksum too if it has other bytes); a key that is empty or of another
	//		// type is ErrKey. External data needs a checksum in the signed part where the signature is in the file.
	//		//
	//		// What was compared is what is used. Bytes that are copied (by View.ReadInto, View.ReadAt, View.Clone, tensor.Decode, Model.Load,
	//		// Model.Verify, Model.Native and writers, and metadata) are compared after the copy, each time. Bytes, As and Use lend the mapped
	//		// file itself. The library has compared these bytes with the signature, once. Another process that may write the
	//		// file can change what the slice shows afterwards, and no check can see that. If slices must not change
	//		// either: Options.Private, or a file that nobody can write.
	//		Trusted Trust
	//		// Dir is the directory of external data files, for a model that is not opened by path.
	//		Dir string
	//		// Root is a directory that symbolic links of the model may lead to. Links of shards, parts and
	//		// external data may always lead below their own directory and, if Root is not set, from a snapshot of a
	//		// Hugging Face cache (ROOT/snapshots/REVISION) to its ROOT/blobs; so may the model file if Open is given a
	//		// directory. Each element of a name is examined. Any other link is ErrUnsupported. For OpenFS, Root is a name in
	//		// the file system.
	//		Root string
	//		// Private reads all files of the model, with shards and external data, into memory when it is opened, instead of mapping them:
	//		// for files that other programs overwrite in place, and for Windows, which does not replace a mapped file. No other process
	//		// can change the model afterwards. An io.ReaderAt is read whole, too; OpenBytes uses the bytes of the caller as they are. A file
	//		// that changes while it is read is ErrChanged, as far as its size and modification time show that. The files
	//		// count for MaxMemory: if they exceed it, opening is ErrLimit.
	//		Private bool
	//		// Lock keeps the mapped files in physical memory until Close (mlock). Files that are mapped on first
	//		// use, such as shards and external data, are locked then; Prefetch maps those of a directory. ErrLimit
	//		// means that RLIMIT_MEMLOCK is too low; ErrUnsupported that the model is not mapped, or that
	//		// the system is not Linux, Android, macOS or iOS.
	//		Lock bool
	//		// Debug makes Close protect the mapping instead of unmapping it: a raw slice that is used after
	//		// Close ends the program at once. The address space is never released, so use it in tests only.
	//		Debug bool
	//
	//		// Memory is for drivers: the account for MaxMemory. Programs leave it nil.
	//		Memory *driver.Memory
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (o Options) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (o Options) LogValue() slog.Value
	//
	//	// String describes the options without keys, on one line.
	//	func (o Options) String() string
	Options = driver.Options
	// WriteOptions changes how a model is written. Nil and the zero value work.
	//
	//	type WriteOptions struct {
	//		// Context cancels writing. Nil means context.Background.
	//		Context context.Context
	//		// Progress is called as data is written, by the goroutine that writes. It must not call the Writer.
	//		Progress Progress
	//		// Time is the creation time that formats record, and the time of a signature. With the zero Time
	//		// a file has no creation time, so that the same schema gives the same bytes, and a signature has the current time.
	//		Time time.Time
	//		// NoSync skips fsync: after a crash of the system the file may be lost or empty. Nothing that a model in several
	//		// files replaces is removed then, as with KeepOld, except an index.
	//		NoSync bool
	//		// KeepOld leaves shards and external data that the new model no longer names, and the file that a model in shards
	//		// replaces: its path then opens the old model, the index and the directory the new one. Set it where removing a file breaks
	//		// the programs that have it open, as on network file systems. An index that would hide the new file is removed nevertheless.
	//		KeepOld bool
	//		// Spool says where NewWriter keeps data that cannot be written from front to back.
	//		Spool Spool
	//		// AcceptLoss lists losses to accept when the format cannot hold all of the schema: kinds ("metadata") or
	//		// single ones ("metadata:author", Loss.Item). Any other loss is refused with a LossError before
	//		// anything is written. Losses that do not occur are ignored; an unknown kind is ErrSchema.
	//		AcceptLoss []string
	//		// KeepNames stores the schema's names of tensors, and quantization parameters that have no other place,
	//		// in a file of a format that numbers its tensors (MOBI). Other readers ignore them; Model.RestoreNames
	//		// and package convert restore them.
	//		KeepNames bool
	//		// MaxShard splits a model of safetensors or GGUF into files with at most this many bytes of tensors,
	//		// or one larger tensor, in the schema's order; 0 means one file. Create for "m.safetensors" makes
	//		// "m-00001-of-00002.safetensors" and so on, and "m.safetensors.index.json", which opens the
	//		// model. They appear together and replace the previous model at the path. If there is an index already, or a file
	//		// with one of these names, the names have digits that never come again, "m-3f9a01c2-00001-of-00002.safetensors":
	//		// Writer.Files has them after Close. GGUF has no index: the first part opens the model, and a split model is only
	//		// written where none is (fs.ErrExist). A model that fits in one file has the given path.
	//		MaxShard int64
	//
	//		// Compression names a method: "gzip", "zstd", "lz4" or "brotli".
	//		Compression string
	//		// Level is the effort of the compression, from 1 (fast) to 9 (small); 0 means 6.
	//		Level int
	//		// Signer signs the file: an Ed25519, RSA or ECDSA key, as the format supports. A nil key
	//		// inside, such as ed25519.PrivateKey(nil), is ErrKey.
	//		Signer crypto.Signer
	//		// Key encrypts the file with AES-256-GCM. It has 32 bytes, or is nil for no encryption; any
	//		// other length is ErrKey.
	//		Key []byte
	//		// Align is the alignment of each tensor's data in the file, in bytes: a power of two.
	//		Align int64
	//		// Extended allows extensions of the format that other readers may not support, such as
	//		// dtypes that its specification lacks.
	//		Extended bool
	//		// ExternalFrom moves tensors of at least this many bytes to a data file next to the model; 0 moves
	//		// none. One process may write the model from several goroutines; several processes must take turns.
	//		ExternalFrom int64
	//		// Format has the options of one format: its WriteOptions or a pointer to them, such as
	//		// *mle.WriteOptions, whose embedded format.WriteOptions must be zero: those around them apply. Another type is
	//		// ErrOption.
	//		Format any
	//
	//		// Path is for drivers: the path of the new file, "" for an io.Writer. Programs leave it empty.
	//		Path string
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (o WriteOptions) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (o WriteOptions) LogValue() slog.Value
	//
	//	// String describes the options without keys, on one line.
	//	func (o WriteOptions) String() string
	WriteOptions = driver.WriteOptions
	// SignatureState is the result of checking a signature.
	//
	//	type SignatureState uint8
	//
	//	// String returns "unsigned", "not checked" or "trusted".
	//	func (s SignatureState) String() string
	SignatureState = driver.SignatureState
	// Spool says where NewWriter keeps tensors that are written out of order, and files whose header depends
	// on their data, until they can be written.
	//
	//	type Spool uint8
	Spool = driver.Spool
	// Check says which checksums are verified, and when. The structure of a file is always validated.
	//
	//	type Check uint8
	//
	//	// Sums reports whether the checksums of the structure are verified on open.
	//	func (c Check) Sums() bool
	Check = driver.Check
	// Progress is called from time to time with the number of bytes done, the total, and the name of the
	// tensor or section in progress. Calls do not overlap.
	//
	//	type Progress func(done, total int64, tensor string)
	Progress = driver.Progress
	// Trust says what the files of a model must be (Options.Trusted). It never sees weights: the engine hashes the
	// files and compares them, with the hash that the Trust brings.
	//
	//	type Trust interface {
	//		// Check is called when a model is opened, before anything of it is used. It requires digests of files (Require), a
	//		// signature in the file (CheckSignature), or both. A file that neither covers is refused with ErrSignature, whether the
	//		// model is opened with it or uses it later. If Check returns an error, opening fails with it. Check may look at
	//		// whatever else it wants, such as the identity of a signer. It must not keep u.
	//		Check(ctx context.Context, u *Unverified) error
	//	}
	Trust = driver.Trust
	// TrustWatcher is a Trust with files next to the model, such as a signature, which package live watches.
	//
	//	type TrustWatcher interface {
	//		Trust
	//		// Paths returns the paths where such files may be, for the model at a path.
	//		Paths(model string) []string
	//	}
	TrustWatcher = driver.TrustWatcher
	// Unverified is a model that is being opened, and of which nothing was used yet. Its methods fail after Trust.Check has
	// returned.
	//
	//	type Unverified struct {
	//		// contains filtered or unexported fields
	//	}
	//
	//	// CheckSignature requires a signature in the file by this key: an ed25519.PublicKey, *rsa.PublicKey or *ecdsa.PublicKey.
	//	func (u *Unverified) CheckSignature(key crypto.PublicKey) error
	//
	//	// Files returns the files that are known before the model is parsed: the one that opens it.
	//	func (u *Unverified) Files() []UnverifiedFile
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (u *Unverified) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (u *Unverified) LogValue() slog.Value
	//
	//	// Path returns the path that the model is opened by, "" for bytes, readers and file systems.
	//	func (u *Unverified) Path() string
	//
	//	// ReadFile reads a file of at most 64 MiB next to the model, such as a signature, from where the model comes from: its directory, the file system or the reader (Sibling).
	//	func (u *Unverified) ReadFile(name string) ([]byte, error)
	//
	//	// Require permits the model to use the file of that name, if it has these digests; further calls add digests that must match too.
	//	func (u *Unverified) Require(name string, digests ...SignedDigest) error
	//
	//	// String describes the model by its path, on one line.
	//	func (u *Unverified) String() string
	Unverified = driver.Unverified
	// UnverifiedFile is a file of a model that is being opened.
	//
	//	type UnverifiedFile struct {
	//		// Name is relative to the directory of the model. It is "" for bytes, a reader without a Path, and a part of a file.
	//		Name string
	//		Size int64
	//		Open bool // it is open; others are opened later
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (f UnverifiedFile) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (f UnverifiedFile) LogValue() slog.Value
	//
	//	// String describes the file on one line.
	//	func (f UnverifiedFile) String() string
	UnverifiedFile = driver.UnverifiedFile
	// SignedDigest is a signed digest of a range of a file, or of all of it.
	//
	//	type SignedDigest struct {
	//		Offset, Size int64            // Size -1 means the whole file
	//		New          func() hash.Hash // the hash, such as sha256.New
	//		Sum          []byte
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (d SignedDigest) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (d SignedDigest) LogValue() slog.Value
	//
	//	// String describes the range and the size of the digest, on one line.
	//	func (d SignedDigest) String() string
	SignedDigest = driver.SignedDigest
)

// The values of Check.
const (
	CheckDefault   = driver.CheckDefault   // checksums of the structure on open; of data as the format requires
	CheckStructure = driver.CheckStructure // no checksums
	CheckTouch     = driver.CheckTouch     // checksums of the structure on open, of data before its first use
	CheckAll       = driver.CheckAll       // every checksum on open, as Model.Verify does
)

// The values of Spool.
const (
	SpoolFile   = driver.SpoolFile   // in a temporary file
	SpoolMemory = driver.SpoolMemory // in memory
	SpoolNever  = driver.SpoolNever  // nowhere: what cannot be streamed is ErrUnsupported
)

// The values of SignatureState.
const (
	Unsigned         = driver.Unsigned         // the file has no signature
	SignatureUnknown = driver.SignatureUnknown // the file is signed, but no trusted key was given
	SignatureTrusted = driver.SignatureTrusted // the signature by the trusted key is valid
)
