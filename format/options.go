package format

import (
	"context"
	"crypto"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/engine"
	"github.com/weightmap/weightmap/internal/source"
)

// Options changes how a model is opened. Nil and the zero value work. Negative
// limits and unknown values are ErrOption.
type Options struct {
	// Context ends opening, between two reads of an io.ReaderAt and in long work;
	// nil means never.
	Context context.Context
	// Format forces a format by name instead of detecting it.
	Format string
	// Check says which checksums are verified when.
	Check Check
	// MaxTensors refuses files with more tensors; 0 means 4,194,304.
	MaxTensors int
	// MaxHeaderBytes refuses files whose structural part (all but tensor data)
	// is larger, when it must be held in memory; 0 means 1 GiB.
	MaxHeaderBytes int64
	// MaxMetadataBytes and MaxGraphBytes bound compressed sections once they
	// are inflated. 0 means 64 MiB and 1 GiB, and no more than 256 times the
	// stored size or 16 MiB, whichever is more.
	MaxMetadataBytes int64
	MaxGraphBytes    int64
	// MaxMemory bounds what the library holds for the model, all together: copies of
	// the structure, the index, inflated sections, metadata and graphs while they are
	// built, tensors that are decoded, decrypted, realigned or cached, files that
	// cannot be mapped, private copies, windows of codecs. It does not count mappings, and nothing
	// that was handed over, as View.Clone and Graph do. With 0 there is no sum, but what
	// a structure takes in memory, a graph above all, is held to 16 MiB and 16 times
	// its bytes in the file. Beyond either is ErrLimit.
	MaxMemory int64
	// CacheBytes bounds the tensors that are kept once they were read through an
	// io.ReaderAt, or on demand; with 0 they are read anew each time.
	CacheBytes int64
	// Key decrypts an encrypted file: 32 bytes for AES-256. Nil is none, and one of another
	// size, an empty one too, is ErrKey; files that are not encrypted do not look at it. It
	// is copied, and not kept longer than the model.
	Key []byte
	// Trusted demands a signature by this key (ed25519.PublicKey, *rsa.PublicKey,
	// *ecdsa.PublicKey): opening a file that is unsigned, signed by another, changed
	// since (also ErrChecksum), or of a format without signatures is ErrSignature, and
	// an unusable key ErrKey as well: a private one, another type, one that is empty. The file that is opened is the one that was checked: its structure is in
	// private memory, and that memory is what was hashed. Its data was as signed
	// when it was opened: who can write to the file in place can still change it, and
	// CheckTouch or Verify look again. External data must have a checksum in what
	// was signed, which CheckTouch, CheckAll and Verify compare; opening does not.
	//
	// Models of any format may be held to a detached signature instead: a *signing.Policy reads
	// it from next to the model, a *signing.Report has verified it. All files of the model are
	// hashed when it is opened, as they were parsed and mapped: what is not signed, or differs, is ErrSignature.
	Trusted crypto.PublicKey
	// Dir is where external data files are looked for when the model itself
	// was not opened by path.
	Dir string
	// Root is a directory that links of the model's directory may lead to: those of its shards, parts
	// and external data, and of its file where a directory was named. They may lead below their own directory in any case, and
	// from a snapshot of a Hugging Face cache (ROOT/snapshots/REVISION) to its ROOT/blobs unless
	// Root is set. Any other link is ErrUnsupported.
	// Programs of tsr, mag and mobi alone do not know Root and caches: see FindInDirectories.
	Root string
	// Populate reads the mapped files into physical memory when the model is open, so that no use
	// waits for the disk, and Lock also keeps them there until Close (mlock). Files that are
	// mapped at their first use, such as shards and external data, follow then; Prefetch maps
	// those of a directory. Neither is left undone in silence: a limit of the system
	// (RLIMIT_MEMLOCK) is ErrLimit, and ErrUnsupported what is not mapped (readers, files read on
	// demand, for Lock also bytes and files in memory) and, for Lock, systems other
	// than Linux, Android, macOS and iOS.
	Populate, Lock bool
	// Private opens a copy that is made now, of the file and of all other files of the
	// model, for files that others overwrite in place: whatever becomes of them, what is open
	// stays as it is. Where the file system shares blocks among files (reflinks, as Btrfs and
	// XFS on Linux), the copy takes neither memory nor time; elsewhere it is in memory, for
	// which MaxMemory and Stats.Heap count it. A copy is of one moment: a file that changes
	// meanwhile is copied again, and after eight attempts ErrCorrupt; one that was
	// changed in the last 20 ms is waited for. Whether its writer was done only checksums tell, and
	// the files of a model are copied one after the other.
	Private bool
	// MaxMapped bounds the address space that the model maps, all its files together and each as
	// a whole; 0 means no limit. A file that does not fit is read on demand.
	MaxMapped int64
	// OnDemand maps nothing: files are kept open and read when bytes are asked for, as
	// OpenReaderAt does; CacheBytes and slices are as there. It is for network disks, where
	// a mapping that meets an error ends the program unless it is inside Do. Without it, a file is
	// read on demand if there is no room to map it: it is larger than the address space
	// (5 GB where that has 32 bits), or the process has as many mappings (vm.max_map_count) or
	// as much address space (RLIMIT_AS) as it may. Model.Notes and Stats say so. The file
	// that was opened is the one that is read, whatever has its name by then; what others change
	// in it is seen, and only sums tell.
	OnDemand bool
	// Debug makes Close withdraw access to the mapping instead of unmapping
	// it, so that a use after Close stops the program at once. The address
	// space is not given back: for tests only.
	Debug bool
}

// Defaults of the limits.
const (
	DefaultMaxTensors       = 1 << 22
	DefaultMaxHeaderBytes   = 1 << 30
	DefaultMaxMetadataBytes = driver.DefaultMaxMetadataBytes
	DefaultMaxGraphBytes    = driver.DefaultMaxGraphBytes
)

// checked returns a copy with every unset option at its default, or what makes
// no sense. It works on nil.
func (o *Options) checked() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxTensors", int64(c.MaxTensors)}, {"MaxHeaderBytes", c.MaxHeaderBytes}, {"MaxMetadataBytes", c.MaxMetadataBytes},
		{"MaxGraphBytes", c.MaxGraphBytes}, {"MaxMemory", c.MaxMemory}, {"CacheBytes", c.CacheBytes}, {"MaxMapped", c.MaxMapped},
	} {
		if limit.value < 0 {
			return c, optionError(limit.name, limit.value)
		}
	}
	if !c.Check.Valid() {
		return c, optionError("Check", int64(c.Check))
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Key = slices.Clone(c.Key)
	if c.MaxTensors == 0 {
		c.MaxTensors = DefaultMaxTensors
	}
	if c.MaxHeaderBytes == 0 {
		c.MaxHeaderBytes = DefaultMaxHeaderBytes
	}
	return c, c.Context.Err()
}

// optionError says which option makes no sense.
func optionError(name string, value int64) error {
	return &Error{Field: name, Offset: -1, Err: fmt.Errorf("%w: %d", ErrOption, value)}
}

// mapping is how the files of m are opened.
func (o *Options) mapping(m *Model) source.Options {
	s := source.Options{
		Debug: o.Debug, OnDemand: o.OnDemand, Private: o.Private, Lock: o.Lock, Populate: o.Populate,
		Memory: &m.memory, Context: o.Context,
	}
	if o.MaxMapped > 0 {
		m.space.Limit(o.MaxMapped)
		s.Space = &m.space
	}
	return s
}

// opening is mapping for the file that is parsed.
func (o *Options) opening(m *Model) source.Options {
	s := o.mapping(m)
	s.Parse = true
	return s
}

// configure tells the engine what it takes of the options.
func (o *Options) configure(m *Model, d driver.Driver, path string) *engine.Config {
	m.opening = engine.Config{
		Sibling: m.opening.Sibling,
		Driver:  d, Path: path, Dir: o.Dir, Root: o.Root, Cache: o.CacheBytes, Mapping: o.mapping(m), Trusted: o.Trusted,
		Options: driver.Options{
			Context: o.Context, Check: o.Check, MaxTensors: o.MaxTensors, MaxHeaderBytes: o.MaxHeaderBytes,
			MaxMetadataBytes: o.MaxMetadataBytes, MaxGraphBytes: o.MaxGraphBytes, Key: o.Key,
			Memory: &m.memory,
		},
	}
	return &m.opening
}
