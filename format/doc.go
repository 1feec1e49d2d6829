// Package format opens, verifies and writes model files of any format.
//
// Open detects the format of a file by its content and returns a Model, whose tensors are views
// (package tensor) of the mapped file. Create writes a file from a schema.Schema through a Writer;
// Save does so in one call.
//
// A format registers itself when its package is imported, as image decoders do:
//
//	import _ "github.com/weightmap/weightmap/format/all" // every format of this module
//	import _ "github.com/weightmap/weightmap/mag"        // or just one
//
// A program that imports one format links no other. Package driver describes how to add one.
//
// A format is a value, which has the options that only it has: mle.Format{Chunked: true}. The
// options for all formats are Options and WriteOptions; nil works for both.
//
// # What opens
//
// A path may be a file, a directory with a model in it, or a repository of a Hugging Face cache:
// see Open. OpenFS takes the same from a file system, OpenReaderAt and OpenFile one file. A file
// that is no model is ErrUnknownFormat, and the error says what it is and what helps, such as the
// command that converts it. A file that is a part of a model opens as that part: Model.Part.
//
// # Checksums
//
// Open verifies the checksums of the structure, Model.Verify those of the data. Verify returns a
// Coverage, since formats differ in what their checksums cover, and some have none. With CheckTouch
// the checksums of a tensor are verified before its first use; mobi does so by default. Verify also
// compares files with the digests that the caches of the Hub and of Ollama name them by.
//
// # Copies
//
// Model.Schema returns the schema of an open model: metadata, tensors, quantization, graph, docs. A
// format that cannot hold all of a schema refuses it with a schema.LossError, which lists what
// would be lost. WriteOptions.AcceptLoss names losses to accept, by kind or one by one. What only
// one format can hold (schema.Schema.Native) is kept by copies within that format.
//
// # Lifetime
//
// A model owns its mapping, and views are slices of it. View.Bytes and tensor.As return raw slices,
// which are valid until Close. View.Use, ReadInto, ReadAt, Clone and tensor.Decode are guarded:
// Close waits for them, and a file that is cut short meanwhile is ErrTruncated instead of a crash.
// Model.Guard guards code that uses raw slices of several tensors; Model.Pin keeps raw slices valid
// across Close. After Close every access to data returns ErrClosed. The garbage collector unmaps an
// unreachable model, unless a raw slice was returned: then only Close does.
//
// With Options.Debug, or the build tag weightmap_debug, Close makes the memory inaccessible instead
// of unmapping it. A raw slice that is used after Close then ends the program at once, instead of
// reading another file that was mapped at the same address. The address space is never released, so
// use this in tests only.
//
// # Loading
//
// Model.Load reads many tensors and slices of tensors into memory of the caller, as bytes or as
// float32: in the order of the file, in large steps, on several goroutines, from HTTP as many
// ranges at a time. Views suit what is used where it is; Load what goes elsewhere, such as to a
// device or to another library's tensors. Model.Stream passes tensors through a few buffers, in which
// it reads ahead while the program uses the last ones: for what does not fit into memory twice.
//
// Touching a page of a mapping that is not in memory keeps a processor from other goroutines while
// the disk reads. Load, View.ReadInto, tensor.Decode and Model.Verify do not, on Linux and Android;
// loops over raw slices do.
//
// # Limits
//
// Options.MaxMemory limits the memory that the library allocates for a model. There are fixed
// limits for the number of tensors (MaxTensors), for bytes that are not data (MaxStructure) and for
// decompressed sections. Exceeding a limit is ErrLimit. A service that opens files of strangers
// should set MaxMemory.
//
// A file that cannot be mapped because it exceeds the address space (32-bit systems) or a limit of
// the process (vm.max_map_count, RLIMIT_AS) is read on demand. Model.Notes and Stats report that.
// OpenReaderAt always reads on demand.
//
// # Contexts
//
// Functions that open or create take a context in their options (Options.Context,
// WriteOptions.Context). Methods of an open model take one as their first parameter.
//
// # Platforms
//
// Linux, Android, macOS, iOS and Windows map files. Other systems (FreeBSD, js/wasm) read them into
// memory, and very large ones on demand. On Windows a mapped file can neither be truncated nor
// replaced until the model is closed. Files are little-endian: on a big-endian host tensor.As
// returns ErrByteOrder for elements of several bytes, and tensor.Decode swaps them.
//
// # Errors
//
// Errors are *tensor.Error values with format, path, field and byte offset. They wrap one of the
// errors below, for errors.Is. No input makes this package panic. Opening and verifying allocate in
// proportion to the file and within Options.MaxMemory; see SECURITY.md for what was measured.
package format
