package format

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/load"
	"github.com/weightmap/weightmap/tensor"
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
	//		// a file has no creation time, so that the same plan gives the same bytes, and a signature has the current time.
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
	//		// AcceptLoss lists losses to accept when the format cannot hold all of the plan: kinds ("metadata") or
	//		// single ones ("metadata:author", Loss.Item). Any other loss is refused with a LossError before
	//		// anything is written. Losses that do not occur are ignored; an unknown kind is ErrPlan.
	//		AcceptLoss []string
	//		// KeepNames stores the plan's names of tensors, and quantization parameters that have no other place,
	//		// in a file of a format that numbers its tensors (MOBI). Other readers ignore them; Model.RestoreNames
	//		// and package convert restore them.
	//		KeepNames bool
	//		// MaxShard splits a model of safetensors or GGUF into files with at most this many bytes of tensors,
	//		// or one larger tensor, in the plan's order; 0 means one file. Create for "m.safetensors" makes
	//		// "m-00001-of-00002.safetensors" and so on, and "m.safetensors.index.json", which opens the
	//		// model. They appear together and replace the previous model at the path. If there is an index already, or a file
	//		// with one of these names, the names have digits that never come again, "m-3f9a01c2-00001-of-00002.safetensors":
	//		// Writer.Files has them after Close. GGUF has no index: the first part opens the model, and a split model is only
	//		// written where none is (fs.ErrExist). A model that fits in one file has the given path.
	//		MaxShard int64
	//		// Storage sets compression, encryption, signature and alignment for any format that has them.
	//		Storage Storage
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
	WriteOptions = plan.WriteOptions
	// Plan describes a file before its data is written, so that a writer knows every size and offset and
	// streams the data once. A writer copies the plan: the caller may change it afterwards.
	//
	//	type Plan struct {
	//		Metadata Metadata
	//		// Tensors lists the tensors in file order. A writer uses Name, DType and Shape, Encoding where
	//		// DType is Invalid, and Quant where the format stores it. It ignores the other fields.
	//		// Drivers find names, shapes and sizes checked, and Size set. All together have at most 2^61 bytes.
	//		Tensors []tensor.Info
	//		Graph   *Graph // nil for none
	//		// Native holds what only one format can store, nil for nothing. format.PlanOf sets it.
	//		Native *Native
	//		// Part and Parts say that the tensors are those of part Part, from 1, of a model of Parts files.
	//		// Both are 0 for a whole model. Writing a part as if it were a model is a LossPart.
	//		// format.PlanOf sets them; a caller that adds the tensors of the other parts sets them to 0.
	//		Part, Parts int
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (p Plan) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (p Plan) LogValue() slog.Value
	//
	//	// String describes how much the plan has, on one line.
	//	func (p Plan) String() string
	Plan = plan.Plan
	// Metadata is the key-value pairs of a file, in file order.
	//
	// Int64, Float64, String and Strings convert the value of the first entry with a key, whatever type
	// the format gave it: safetensors and ONNX store strings only. A conversion is exact or
	// fails. Without the key the error wraps ErrNotFound; for a value that cannot be converted,
	// ErrUnsupported.
	//
	//	type Metadata []Entry
	//
	//	// Float64 returns the value of a key as a number: a number, or a string that is one.
	//	func (m Metadata) Float64(key string) (float64, error)
	//
	//	// Format implements fmt.Formatter: every verb prints the first entries on one line.
	//	func (m Metadata) Format(f fmt.State, _ rune)
	//
	//	// Get returns the value of the first entry with the key, and whether there is one.
	//	func (m Metadata) Get(key string) (any, bool)
	//
	//	// Int64 returns the value of a key as an integer: a number without a fraction, or a string that is one.
	//	func (m Metadata) Int64(key string) (int64, error)
	//
	//	// LogValue implements slog.LogValuer like Format.
	//	func (m Metadata) LogValue() slog.Value
	//
	//	// MarshalJSON returns a JSON object with the keys in file order.
	//	func (m Metadata) MarshalJSON() ([]byte, error)
	//
	//	// String returns the value of a key as a string: a string, or Entry.Text of any other value but null.
	//	func (m Metadata) String(key string) (string, error)
	//
	//	// Strings returns the value of a key as a list: a list of strings, or a string with a JSON array of them.
	//	func (m Metadata) Strings(key string) ([]string, error)
	Metadata = plan.Metadata
	// Entry is one pair of Metadata. The Value of an entry that was read is one of
	//
	//	string            the only type of safetensors and ONNX
	//	bool
	//	int64
	//	float64           GGUF
	//	json.Number       any other number of MLE and WIA, whose metadata is JSON
	//	json.RawMessage   an object or array
	//	nil               null
	//
	// A plan may also have values of Go's other types of numbers, for GGUF of the types that package gguf
	// lists, and for MLE and WIA of any type that encoding/json marshals.
	//
	//	type Entry struct {
	//		Key   string
	//		Value any
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (e Entry) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (e Entry) LogValue() slog.Value
	//
	//	// String describes the key and the beginning of the value, on one line.
	//	func (e Entry) String() string
	//
	//	// Text returns the value as a format writes it that stores strings only: a string as it is, any other value as JSON.
	//	func (e Entry) Text() (string, error)
	Entry = plan.Entry
	// Graph is an operator graph in a form that all formats share. Edges are names: an input of a node
	// names a graph input, a tensor of the model or an output of another node.
	//
	//	type Graph struct {
	//		Name    string
	//		Inputs  []ValueInfo
	//		Outputs []ValueInfo
	//		Nodes   []Node
	//		// Initializers lists the tensors with data that the graph declares, by name. It is nil
	//		// where the format records no such list.
	//		Initializers []string
	//	}
	//
	//	// Clone returns a copy of the graph with its nodes, lists and subgraphs.
	//	func (g *Graph) Clone() *Graph
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (g Graph) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (g Graph) LogValue() slog.Value
	//
	//	// MarshalJSON returns the graph as one JSON object, with attributes in file order:
	//	func (g *Graph) MarshalJSON() ([]byte, error)
	//
	//	// String describes the name and the numbers of nodes, inputs and outputs, on one line.
	//	func (g Graph) String() string
	Graph = plan.Graph
	// Node is one operator of a graph.
	//
	//	type Node struct {
	//		Name       string
	//		Op         string // "Conv2D", or the decimal code of an unknown operator
	//		Domain     string // the operator set, "" for that of the format
	//		Inputs     []string
	//		Outputs    []string
	//		Attributes []Attribute
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (n Node) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (n Node) LogValue() slog.Value
	//
	//	// MarshalJSON returns the node as it is in the result of Graph.MarshalJSON.
	//	func (n Node) MarshalJSON() ([]byte, error)
	//
	//	// String describes the operator, its values and attributes, on one line.
	//	func (n Node) String() string
	Node = plan.Node
	// Attribute is a named parameter of a node. Value is an int64, float64, float32, string, bool,
	// []int64, []int32, []float32, []float64, []string, tensor.View, []tensor.View, *Graph, []*Graph or
	// json.RawMessage.
	//
	//	type Attribute struct {
	//		Name  string
	//		Value any
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (a Attribute) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (a Attribute) LogValue() slog.Value
	//
	//	// String describes the name and the beginning of the value, on one line.
	//	func (a Attribute) String() string
	Attribute = plan.Attribute
	// Native holds what only one format can store, such as the functions and doc strings of ONNX and
	// fields that this library does not know. A copy to the same format keeps it; a copy to another format
	// lists its kinds as losses.
	//
	//	type Native struct {
	//		Format string       // the name of that format
	//		Kinds  []NativeKind // sorted by name
	//		Raw    []byte       // encoded by the format's driver
	//		// Renamed maps names of tensors in the plan to their names in the file. A caller that renames
	//		// tensors of the plan sets it; names that stay the same may be left out.
	//		Renamed map[string]string
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (n Native) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (n Native) LogValue() slog.Value
	//
	//	// String describes the format and the kinds, on one line.
	//	func (n Native) String() string
	Native = plan.Native
	// NativeKind counts the items of one kind in a Native.
	//
	//	type NativeKind struct {
	//		Name  string   // "functions"
	//		Count int      // the number of items
	//		Bytes int64    // their size in the file
	//		Sum   [32]byte // equal for equal items in equal places
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (k NativeKind) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (k NativeKind) LogValue() slog.Value
	//
	//	// String describes the name, number and size, on one line.
	//	func (k NativeKind) String() string
	NativeKind = plan.NativeKind
	// ValueInfo describes a value that enters or leaves a graph.
	//
	//	type ValueInfo struct {
	//		Name  string
	//		DType tensor.DType // Invalid when the file names none, or one that package tensor lacks
	//		Code  string       // the file's decimal code of the dtype where DType is Invalid, "" for none
	//		Dims  []Dim        // nil for a scalar and for an unknown shape
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (v ValueInfo) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (v ValueInfo) LogValue() slog.Value
	//
	//	// MarshalJSON returns an object with name, dtype and shape.
	//	func (v ValueInfo) MarshalJSON() ([]byte, error)
	//
	//	// String describes name, type and dims, on one line.
	//	func (v ValueInfo) String() string
	ValueInfo = plan.ValueInfo
	// Dim is one dimension of a ValueInfo: a number, or a symbol such as "batch".
	//
	//	type Dim struct {
	//		Size   int64  // DynamicDim when it is not fixed
	//		Symbol string // the name of a dynamic dimension, "" for none
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (d Dim) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (d Dim) LogValue() slog.Value
	//
	//	// MarshalJSON returns the symbol if there is one, and else the number.
	//	func (d Dim) MarshalJSON() ([]byte, error)
	//
	//	// String describes the symbol or the size, on one line.
	//	func (d Dim) String() string
	Dim = plan.Dim
	// Signature is what a signed file states about its signature; Model.Verify and Model.CheckClaim check it.
	//
	//	type Signature struct {
	//		Algorithm string           // "Ed25519", "RSA-SHA256", "ECDSA"
	//		PublicKey crypto.PublicKey // the key in the file, nil for none
	//		Timestamp int64            // Unix seconds
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (s Signature) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (s Signature) LogValue() slog.Value
	//
	//	// String describes the algorithm and the time, on one line.
	//	func (s Signature) String() string
	Signature = driver.Signature
	// SignatureState is the result of checking a signature.
	//
	//	type SignatureState uint8
	//
	//	// String returns "unsigned", "not checked" or "trusted".
	//	func (s SignatureState) String() string
	SignatureState = driver.SignatureState
	// Storage sets how a file stores its tensors: compressed, encrypted, signed, aligned. It changes no
	// value of a tensor. The zero value is the plain form of each format. An option that the format lacks
	// is ErrOption.
	//
	//	type Storage struct {
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
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (s Storage) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (s Storage) LogValue() slog.Value
	//
	//	// String describes the storage without keys, on one line.
	//	func (s Storage) String() string
	Storage = plan.Storage
	// Spool says where NewWriter keeps tensors that are written out of order, and files whose header depends
	// on their data, until they can be written.
	//
	//	type Spool uint8
	Spool = plan.Spool
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
	Progress = plan.Progress
	// LossError is the error for a plan that a format cannot hold. It lists every loss that
	// WriteOptions.AcceptLoss does not name. It wraps ErrPlan, ErrUnsupported and the causes of
	// the losses; use errors.As to find it in the error of Create, NewWriter, Save or convert.File.
	//
	//	type LossError struct {
	//		Format string
	//		Losses []Loss // in the order of the constants of LossKind
	//		// contains filtered or unexported fields
	//	}
	//
	//	// Error lists as many losses as fit on one line, those first that cannot be accepted.
	//	func (e *LossError) Error() string
	//
	//	// GoString implements fmt.GoStringer like Error.
	//	func (e *LossError) GoString() string
	//
	//	// Unwrap returns ErrPlan, ErrUnsupported and the cause of each loss.
	//	func (e *LossError) Unwrap() []error
	LossError = plan.LossError
	// Loss is one part of a plan that a format cannot hold.
	//
	//	type Loss struct {
	//		Kind LossKind
	//		Name string // of the tensor, the metadata key or the part of the graph
	//		Why  string // the reason, such as "no such dtype"
	//		// Acceptable reports whether WriteOptions.AcceptLoss may name it.
	//		Acceptable bool
	//	}
	//
	//	// Item returns the loss as WriteOptions.AcceptLoss names it: "metadata:author", or the kind when Name is empty.
	//	func (l Loss) Item() string
	Loss = plan.Loss
	// LossKind says what part of a plan a format cannot hold.
	//
	//	type LossKind string
	LossKind = plan.LossKind
	// Error is an error with its place: format, path, field and byte offset. It wraps one of the
	// errors below. See tensor.Error for its fields.
	Error = tensor.Error
	// Stats is a report on an open model. Sizes are in bytes. After Close every field is zero except
	// Resident, which is -1.
	//
	//	type Stats struct {
	//		Path string
	//		// FileSize is the size of all files of the model. Files lists them, in the order of Model.Files, also for a
	//		// model that was not opened by path.
	//		FileSize int64
	//		Files    []FileStats
	//		// Mapped is the part of FileSize that is mapped; external data that was not used yet is not. Heap is the part
	//		// in memory: bytes of the caller, and files that are private (Options.Private) or that the system cannot map.
	//		Mapped, Heap int64
	//		// OnDemand is the part that is read on demand: through an io.ReaderAt, or from files too
	//		// large to map.
	//		OnDemand int64
	//		// Resident is the part of Mapped and Heap that is in the physical memory of the process, which
	//		// Evict releases; -1 if the system does not tell. Pages that only the page cache holds do not count.
	//		Resident int64
	//		// Locked is the part that is locked in physical memory (Options.Lock).
	//		Locked int64
	//		// Kept is the size of copies of tensors: decompressed, decrypted and misaligned ones that were
	//		// used, and the cache (Options.CacheBytes).
	//		Kept int64
	//		// ZeroCopy is the number of tensors that are viewed without a copy. Copies counts the others by reason:
	//		// "compressed", "encrypted", "misaligned", "byte order", "behind a reader", "read on demand", "decoded".
	//		ZeroCopy int
	//		Copies   map[string]int
	//		// Lent reports whether a raw slice was returned: the garbage collector then no longer unmaps the model.
	//		Lent bool
	//		// Verified is the number of tensor checksums that were compared, by Verify or before a first use.
	//		Verified int64
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (s Stats) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (s Stats) LogValue() slog.Value
	//
	//	// String describes the statistics, on one line.
	//	func (s Stats) String() string
	Stats = load.Stats
	// FileStats is a file of a model. The index in Stats.Files is tensor.Info.File.
	//
	//	type FileStats struct {
	//		Path string // as in errors: "" for bytes, the names of a reader's siblings, or of files of an fs.FS
	//		Size int64  // -1 if the file is missing, or behind a reader and not opened yet
	//	}
	FileStats = load.FileStats
	// Request is a tensor or a part of it, and the caller's memory that Model.Load reads it into.
	//
	//	type Request struct {
	//		// Tensor is the name of a tensor.
	//		Tensor string
	//		// Slice is the part of it, as View.Slice takes it; nil for the whole tensor.
	//		Slice []tensor.Range
	//		// Bytes takes the little-endian bytes, as View.ReadInto returns them, or Floats the numbers, as tensor.Decode
	//		// returns them. Both may have more room than that. With neither, the tensor is brought into memory, where its
	//		// views find it: its pages are mapped, and what is compressed is decoded and kept.
	//		Bytes  []byte
	//		Floats []float32
	//	}
	//
	//	// GoString implements fmt.GoStringer like String.
	//	func (r Request) GoString() string
	//
	//	// LogValue implements slog.LogValuer like String.
	//	func (r Request) LogValue() slog.Value
	//
	//	// String describes the tensor, the slice and the room for it, on one line.
	//	func (r Request) String() string
	Request = load.Request
	// Covered names the checksum of a part of a file.
	//
	//	type Covered struct {
	//		Name string // of the section or tensor
	//		// By is the checksum: "xxh64", "crc32 of the weights", "adler32 of the file". It is empty if the
	//		// bytes are present and the file has no checksum for them.
	//		By string
	//	}
	Covered = load.Covered
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
	SpoolFile   = plan.SpoolFile   // in a temporary file
	SpoolMemory = plan.SpoolMemory // in memory
	SpoolNever  = plan.SpoolNever  // nowhere: what cannot be streamed is ErrUnsupported
)

// The values of SignatureState.
const (
	Unsigned         = driver.Unsigned         // the file has no signature
	SignatureUnknown = driver.SignatureUnknown // the file is signed, but no trusted key was given
	SignatureTrusted = driver.SignatureTrusted // the signature by the trusted key is valid
)

// The kinds of losses, each with what a writer does when WriteOptions.AcceptLoss names it. The last
// three kinds cannot be accepted.
const (
	LossQuantization = plan.LossQuantization // a tensor's parameters: left out
	LossMetadata     = plan.LossMetadata     // an entry: left out
	LossGraph        = plan.LossGraph        // a graph that cannot be kept as it is: left out as a whole
	LossAttribute    = plan.LossAttribute    // of a node: left out
	LossConversion   = plan.LossConversion   // a value with another type or fewer digits: converted
	LossValue        = plan.LossValue        // dtype or shape of a graph input or output: written as unknown
	LossLabel        = plan.LossLabel        // a name that means nothing to a computation: left out
	LossName         = plan.LossName         // a tensor's name: replaced by one that the format allows
	LossNative       = plan.LossNative       // what only the source's format has: left out
	LossPart         = plan.LossPart         // the other parts of a model: this part is written as if it were all
	LossDType        = plan.LossDType        // of a tensor
	LossShape        = plan.LossShape        // of a tensor
	LossTensors      = plan.LossTensors      // how many there are
)

// AcceptableLosses returns the kinds that WriteOptions.AcceptLoss may name.
func AcceptableLosses() []string { return plan.AcceptableLosses() }

// DynamicDim is the Size of a dimension that is decided at run time.
const DynamicDim = plan.DynamicDim

// FixedDims returns dimensions of fixed sizes.
func FixedDims(shape ...int64) []Dim { return plan.FixedDims(shape...) }

// The errors that an *Error wraps; compare with errors.Is.
var (
	ErrMagic         = driver.ErrMagic         // the file is not of this format
	ErrVersion       = driver.ErrVersion       // an unsupported version of a known format
	ErrUnknownFormat = driver.ErrUnknownFormat // no registered format has the content or the name
	ErrChecksum      = driver.ErrChecksum      // the stored and the computed checksum differ
	ErrUnsupported   = tensor.ErrUnsupported   // a legal dtype, option or feature that is not supported
	ErrSignature     = driver.ErrSignature     // the signature is missing, invalid, or by another key
	ErrKey           = driver.ErrKey           // the key is missing, wrong, or of the wrong kind
	ErrPlan          = plan.ErrPlan            // the format cannot hold the plan, or a call contradicts it
	ErrAborted       = driver.ErrAborted       // the writer failed or was aborted before
	ErrNotDurable    = driver.ErrNotDurable    // the new file is in place, but its directory could not be synced
	ErrOption        = driver.ErrOption        // an invalid option

	ErrClosed       = tensor.ErrClosed       // the model was closed
	ErrNotFound     = tensor.ErrNotFound     // no tensor or metadata key has that name
	ErrTruncated    = tensor.ErrTruncated    // the file is shorter than its fields say, or was cut short
	ErrCorrupt      = tensor.ErrCorrupt      // fields contradict each other or the format
	ErrChanged      = tensor.ErrChanged      // the files changed while they were opened or read
	ErrLimit        = tensor.ErrLimit        // a limit of Options, the library or the system is exceeded
	ErrDType        = tensor.ErrDType        // the tensor has another element type
	ErrMisaligned   = tensor.ErrMisaligned   // the data is not aligned for the element type
	ErrByteOrder    = tensor.ErrByteOrder    // a big-endian host cannot view elements of several bytes
	ErrShape        = tensor.ErrShape        // an invalid shape, range or buffer length
	ErrQuantization = tensor.ErrQuantization // invalid quantization parameters
)
