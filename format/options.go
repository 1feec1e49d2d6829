package format

import (
	"context"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

// Limits that do not depend on Options.
const (
	MaxTensors   = driver.MaxTensors   // of a model
	MaxStructure = driver.MaxStructure // bytes that are not data
)

// Options changes how a model is opened. Nil and the zero value work. A negative limit or an
// unknown value is ErrOption.
type Options struct {
	// Context cancels opening: reads of an io.ReaderAt and work that takes long. Nil means
	// context.Background. An open model does not use it: its methods take a context of their own.
	Context context.Context
	// Format is the format of the file, such as mle.Format{}, or one from ByName. With nil, the
	// content shows it.
	Format Format
	// Check says which checksums are verified when.
	Check Check
	// Progress is called with the progress of what CheckAll and Trusted verify, as in Model.Verify.
	// Nil reports nothing.
	Progress Progress
	// Workers is the number of goroutines that verify, that Model.Load and tensor.Decode take, and
	// Model.Stream for each buffer; 0 means one for each CPU.
	Workers int
	// MaxMemory is the limit for the memory that the library allocates for the model, in bytes: the
	// index, metadata and graph, decompressed and decrypted data, cached tensors, and files that
	// cannot be mapped or are not (Private). Mappings and what the caller owns, such as the result
	// of View.Clone, do not count. With 0 there is no such limit, but the structure, above all a
	// graph, may take at most 16 MiB plus 16 times its size in the file.
	//
	// Other limits hold for any MaxMemory: MaxTensors tensors, and MaxStructure bytes that are not
	// data. A compressed section may inflate to 256 times its stored size, or 16 MiB if that is
	// more, but to no more than 64 MiB (metadata) or 1 GiB (graph). Exceeding a limit is ErrLimit.
	MaxMemory int64
	// CacheBytes is how many bytes of tensors stay in memory once they were read from an
	// io.ReaderAt, or from a file that is read on demand. With 0 each use reads them again.
	CacheBytes int64
	// Key is the AES-256 key of an encrypted file: 32 bytes, or nil. Any other length is ErrKey.
	// Files that are not encrypted ignore it. It is copied, and dropped when the model is closed.
	Key []byte
	// Trusted says what the files of the model must be: TrustKey for a signature in the file (mle,
	// wia), a *signing.Policy for a detached signature of any files, or another Trust. Every file
	// of the model is compared before anything of it is used, whatever the model is opened from,
	// and also if it is opened later. A file that is unsigned, signed by another key or changed is
	// ErrSignature (ErrChecksum too if it has other bytes); a key that is empty or of another type
	// is ErrKey. External data needs a checksum in the signed part where the signature is in the
	// file.
	//
	// What was compared is what is used. Bytes that are copied (by View.ReadInto, View.ReadAt,
	// View.Clone, tensor.Decode, Model.Load, Model.Verify, Model.Native and writers, and metadata)
	// are compared after the copy, each time. Bytes, As and Use lend the mapped file itself. The
	// library has compared these bytes with the signature, once. Another process that may write the
	// file can change what the slice shows afterwards, and no check can see that. If slices must
	// not change either: Options.Private, or a file that no other process can write.
	Trusted Trust
	// Dir is the directory of external data files, for a model that is not opened by path.
	Dir string
	// Root is a directory that symbolic links of the model may lead to. Links of shards, parts and
	// external data may always lead below their own directory and, if Root is not set, from a
	// snapshot of a Hugging Face cache (ROOT/snapshots/REVISION) to its ROOT/blobs; so may the
	// model file if Open is given a directory. Each element of a name is examined. Any other link
	// is ErrUnsupported. For OpenFS, Root is a name in the file system.
	Root string
	// Private reads all files of the model, with shards and external data, into memory when it is
	// opened, instead of mapping them: for files that other programs overwrite in place, and for
	// Windows, which does not replace a mapped file. No other process can change the model
	// afterwards. An io.ReaderAt is read whole, too; OpenBytes uses the bytes of the caller as they
	// are. A file that changes while it is read is ErrChanged, as far as its size and modification
	// time show that. The files count for MaxMemory: if they exceed it, opening is ErrLimit.
	Private bool
	// Lock keeps the mapped files in physical memory until Close (mlock). Files that are mapped on
	// first use, such as shards and external data, are locked then; Prefetch maps those of a
	// directory. ErrLimit means that RLIMIT_MEMLOCK is too low; ErrUnsupported that the model is
	// not mapped, or that the system is not Linux, Android, macOS or iOS.
	Lock bool
	// Debug makes Close protect the mapping instead of unmapping it: a raw slice that is used after
	// Close ends the program at once. The address space is never released, so use it in tests only.
	Debug bool
}

// Check says which checksums are verified, and when. The structure of a file is always validated.
type Check uint8

const (
	// CheckDefault verifies the checksums of the structure when the file is opened. Data is
	// verified by Model.Verify, and before its first use where the format requires that (mobi).
	CheckDefault Check = iota
	// CheckStructure verifies no checksum, neither on open nor on first use.
	CheckStructure
	// CheckTouch verifies the checksums of the structure on open, and those of a tensor before its
	// first use.
	CheckTouch
	// CheckAll verifies every checksum on open, as Model.Verify does.
	CheckAll
)

// With returns a copy of the options with another Format. It works on nil.
func (o *Options) With(f Format) *Options {
	c := Options{}
	if o != nil {
		c = *o
	}
	c.Format = f
	return &c
}

// checkOptions returns a copy with every unset option at its default; o may be nil. An option that
// makes no sense is ErrOption.
func checkOptions(o *Options) (c Options, err error) {
	if o != nil {
		c = *o
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"MaxMemory", c.MaxMemory}, {"CacheBytes", c.CacheBytes}, {"Workers", int64(c.Workers)}, {"Check", int64(CheckAll) - int64(c.Check)}} {
		if n.value < 0 {
			return c, driver.OptionError("", n.name, "%d", n.value)
		}
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Key = slices.Clone(c.Key)
	return c, c.Context.Err()
}

// Progress is called from time to time with the number of bytes done, the total, and the name of
// the tensor or section in progress. Calls do not overlap.
type Progress func(done, total int64, tensor string)

// VerifyOptions changes what Model.Verify does. Nil and the zero value verify all data, with a
// goroutine for each processor.
type VerifyOptions struct {
	// Tensors limits the verification of data to the named tensors, as far as the format's
	// checksums allow. The structure is verified in any case. A name that no tensor has is
	// ErrNotFound.
	Tensors []string

	// Trusted says what the files must be, as Options.Trusted does when a model is opened:
	// TrustKey(key) requires a signature in the file, and a signing.Policy the digests that a
	// signature next to the model lists. Verify asks it again and hashes all files that it names,
	// whatever Tensors has. A file that is not as signed is ErrSignature. A model that others may
	// change is opened with Options.Trusted, which compares the bytes before their use.
	Trusted Trust

	// Workers is the number of goroutines that hash, at most 256. A negative number is ErrOption.
	Workers int

	// Progress is called with the progress, from changing goroutines but never concurrently. It
	// must not close the model, since Close waits for the verification. It may cancel the context.
	Progress Progress
}
