// Package format is what programs use of weightmap: one Model over the files of
// all formats, detection by content, a plan and a streaming Writer, one kind of error.
//
// Formats register themselves when they are imported, as image decoders do:
//
//	import _ "github.com/weightmap/weightmap/format/all" // all of this module
//	import _ "github.com/weightmap/weightmap/mag"        // or just one
//
// A program that imports one format links nothing of the others. Package driver
// says what a format is and how to add one.
//
// # Checksums
//
// Opening verifies the sums of the structure. Data is verified by Model.Verify,
// which returns a Coverage: formats differ in what their sums cover, and some
// files carry none. With CheckTouch the sums that cover a tensor are verified
// before its bytes are first handed out, once; mobi does so by default.
//
// # Copies
//
// Copy with the plan of PlanOf keeps everything that is in the plan, or nothing
// is written: what the target cannot hold (quantization, metadata, a graph
// or parts of it, names, dtypes, shapes) is refused with a LossError that lists
// all of it. WriteOptions.AcceptLoss names what the caller lets go, by kind or one
// by one. What only one format can hold (Plan.Native) is copied within that format.
//
// # Lifetime
//
// A model owns a mapping; views are slices of it. View.Bytes and tensor.As
// return raw slices that are valid until Close. View.Use, View.ReadInto, View.ReadAt,
// View.Clone and tensor.Decode are guarded: Close waits for them, and a file that was
// cut short meanwhile is ErrTruncated instead of a crash. Model.Do guards code that
// works on raw slices of several tensors. Model.Pin keeps raw slices valid across
// Close. Every accessor of data answers ErrClosed after Close. The garbage collector unmaps
// a model that becomes unreachable, unless a raw slice was handed out; then only
// Close unmaps.
//
// With Options.Debug, or in programs built with the tag weightmap_debug, Close makes
// the memory inaccessible instead of unmapping it: a raw slice that is used
// afterwards ends the program at once, instead of showing another file's bytes. It is
// for tests, as the address space is not given back.
//
// # Limits
//
// Options.MaxMemory bounds what the library holds for one model, all together. Tensors (MaxTensors),
// bytes that are not data (MaxStructure) and what compressed sections inflate to have limits
// of their own. What exceeds one is ErrLimit. A service that opens files of
// strangers sets MaxMemory to what it can spare for each. A file that there is no room to map is read on
// demand: one that is larger than the address space (5 GB where that has 32 bits), or beyond the limits of the
// process (vm.max_map_count, RLIMIT_AS). Model.Notes and Stats say so. OpenReaderAt over a file
// reads on demand in any case.
//
// # Contexts
//
// The structs of options for what opens or creates have a field Context: Options, WriteOptions. Methods of what is open take
// a context as the first parameter: Model.Verify.
//
// # Platforms
//
// Linux, Android, macOS, iOS and Windows map files. Elsewhere (FreeBSD, js/wasm) files are read into memory, and those that
// are too large on demand. On Windows a mapped file can neither be cut short nor replaced while a model has it open. Files are
// little-endian: on a big-endian host tensor.As of elements of several bytes is ErrByteOrder, and tensor.Decode swaps.
//
// # Errors
//
// Errors are *Error values with format, path, field and byte offset, around a
// sentinel for errors.Is. Input of any kind never panics. Opening and verifying
// allocate in proportion to the file; what is compressed may expand to what
// its stream has proved, within the limits of Options. A Graph is built in full
// when it is asked for, and takes more: see SECURITY.
package format
