package driver

import (
	"context"
	"crypto"
	"fmt"
	"github.com/weightmap/weightmap/tensor"
	"slices"
	"time"
)

// Options changes how a model is opened. Nil and the zero value work. Negative
// limits and unknown values are ErrOption.
type Options struct {
	// Context ends opening, between two reads of an io.ReaderAt and in long work;
	// nil means never. A model that is open does not use it: its methods take their own.
	Context context.Context
	// Format forces a format by name instead of detecting it.
	Format string
	// Check says which checksums are verified when. Progress and Workers are for what
	// CheckAll and Trusted verify, as in Model.Verify.
	Check    Check
	Progress Progress
	Workers  int
	// MaxMemory bounds what the library holds for the model, all together: copies of
	// the structure, the index, inflated sections, metadata and graphs,
	// tensors that are decoded, decrypted, realigned or cached, files that
	// cannot be mapped, windows of codecs. It does not count mappings, and nothing
	// that was handed over, as View.Clone does. With 0 there is no sum, but what
	// a structure takes in memory, a graph above all, may be 16 MiB and 16 times
	// its bytes in the file. Beyond either is ErrLimit. So are, whatever MaxMemory is, more than MaxTensors
	// tensors, more than MaxStructure bytes that are not data, and compressed sections that inflate to
	// more than 256 times their size and 16 MiB, or to more than 64 MiB (metadata) or 1 GiB (graph).
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
	// when it was opened: a process that can write to the file in place can still change it, and
	// CheckTouch or Verify look again. External data must have a checksum in what
	// was signed, which CheckTouch, CheckAll and Verify compare; opening does not.
	//
	// Models of any format can be checked against a detached signature instead, which a *signing.Policy reads
	// from next to the model. All files of the model are hashed when it is opened, as they were parsed and mapped: what is not signed, or differs, is ErrSignature.
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
	// Lock keeps the mapped files in physical memory until Close (mlock), so that no use waits for the
	// disk. Files that are mapped at their first use, such as shards and external data, are locked then;
	// Prefetch maps those of a directory. A limit of the system (RLIMIT_MEMLOCK) is ErrLimit;
	// ErrUnsupported are readers, files read on demand, bytes in memory, and systems other
	// than Linux, Android, macOS and iOS.
	Lock bool
	// Debug makes Close withdraw access to the mapping instead of unmapping
	// it, so that a use after Close stops the program at once. The address
	// space is not given back: for tests only.
	Debug bool

	// Memory is for drivers: the account that opening makes of MaxMemory, for what they allocate
	// in proportion to the file. Programs leave it nil.
	Memory *Memory
}

// Checked returns a copy with every unset option at its default, and m as its account, or what makes no
// sense. It works on nil.
func (o *Options) Checked(m *Memory) (c Options, err error) {
	if o != nil {
		c = *o
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"MaxMemory", c.MaxMemory}, {"CacheBytes", c.CacheBytes}, {"Workers", int64(c.Workers)}, {"Check", int64(CheckAll) - int64(c.Check)}} {
		if n.value < 0 {
			return c, &tensor.Error{Field: n.name, Offset: -1, Err: fmt.Errorf("%w: %d", ErrOption, n.value)}
		}
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Key = slices.Clone(c.Key)
	m.most = c.MaxMemory
	c.Memory = m
	return c, c.Context.Err()
}

// A compressed section may inflate to a multiple of its stored size, to the floor in any case, and
// to a maximum at most.
const (
	maxMetadata = 64 << 20
	maxGraph    = 1 << 30

	inflationRatio = 256
	inflationFloor = 16 << 20
)

// MetadataLimit returns to how many bytes a compressed metadata section of a stored size may inflate.
func (*Options) MetadataLimit(stored int64) int64 { return inflated(maxMetadata, stored) }

// GraphLimit is MetadataLimit for a graph.
func (*Options) GraphLimit(stored int64) int64 { return inflated(maxGraph, stored) }

func inflated(most, stored int64) int64 {
	if stored >= most/inflationRatio {
		return most
	}
	return min(most, max(inflationRatio*stored, inflationFloor))
}

// Check says which checksums are verified, and when. The layout itself is
// always checked.
type Check uint8

const (
	// CheckDefault verifies on open what covers the structure; data is verified
	// on request, or before its first use where the format demands that (mobi).
	CheckDefault Check = iota
	// CheckStructure verifies no checksums, on open or before first use: the
	// layout is sound, and what the bytes say is the caller's concern.
	CheckStructure
	// CheckTouch verifies on open what covers the structure, and every sum that
	// covers data before the first byte of that data is handed out, once.
	CheckTouch
	// CheckAll verifies everything on open, as Model.Verify does.
	CheckAll
)

// Sums reports whether the sums of the structure are verified on open.
func (c Check) Sums() bool { return c != CheckStructure }

// Valid reports whether c is one of the constants.
func (c Check) Valid() bool { return c <= CheckAll }

// WriteOptions changes how a model is written. Nil and the zero value work.
type WriteOptions struct {
	// Context cancels; nil means never.
	Context context.Context
	// Progress is called as bytes are taken in, by who writes. It must not call the Writer.
	Progress Progress
	// Time is the creation time that formats record; zero means none, so that the same plan gives the same bytes.
	// A signature's time is now then.
	Time time.Time
	// NoSync commits without waiting for stable storage: a crash of the system
	// may lose the file or leave it empty.
	NoSync bool
	// Spool says where NewWriter keeps what cannot be written from front to back.
	Spool Spool
	// AcceptLoss names what may get lost when the format cannot hold it:
	// kinds of losses ("metadata"), or single ones ("metadata:author"). Whatever
	// else cannot be kept is refused with a LossError that lists all of it,
	// before anything is written. Naming what does not get lost does no harm; a
	// kind that does not exist is refused.
	AcceptLoss []string
	// KeepNames has a format that numbers tensors (MOBI) keep the plan's names all the
	// same, and parameters of quantization that nothing else there has room for, in a
	// place that its readers look past. Package convert finds them again.
	KeepNames bool
	// MaxShard has Create write several files with at most that many bytes of tensors each, or one
	// larger tensor, in the plan's order (safetensors, gguf); 0 means one file. From "m.safetensors"
	// it makes "m-00001-of-00002.safetensors" and so on with "m.safetensors.index.json", which opens the
	// model; of GGUF the first part does. If all fits into one file, that has the path itself. The files
	// appear together, and replace the model that was at the path, in one file or several.
	MaxShard int64
	// Storage asks for compression, a signature and the like by the names that formats
	// share; what the format does not have is ErrOption.
	Storage Storage
	// Format has the options that the format alone has: its package's WriteOptions,
	// such as *mle.WriteOptions, whose embedded common options are not looked at.
	// Another type is ErrOption.
	Format any

	// Path is for drivers: the file to come, "" when it is written to an io.Writer. Programs
	// leave it empty.
	Path string
}

// Spool says where a file is assembled whose header depends on its data, and
// where tensors wait that come before their turn.
type Spool uint8

// The values of Spool.
const (
	SpoolFile   Spool = iota // in a temporary file
	SpoolMemory              // in memory
	SpoolNever               // nowhere: what cannot be streamed is ErrUnsupported
)

// Checked returns a copy with a context, for a file at path, or what makes no sense. It works on nil.
func (o *WriteOptions) Checked(path string) (*WriteOptions, error) {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	switch {
	case c.Spool > SpoolNever:
		return nil, OptionError("", "Spool", "%d", c.Spool)
	case c.MaxShard < 0:
		return nil, OptionError("", "MaxShard", "%d", c.MaxShard)
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Path = path
	return &c, nil
}

// Progress is called now and then with the bytes done, the bytes there are,
// and the tensor (or section) at work. Calls do not overlap.
type Progress func(done, total int64, tensor string)

// Created returns the creation time in Unix seconds, 0 when there is none: the clock is not asked.
func (o *WriteOptions) Created() int64 {
	if o.Time.IsZero() {
		return 0
	}
	return o.Time.Unix()
}

// Signed returns the time of a signature in Unix seconds, which is now when no time was given.
func (o *WriteOptions) Signed() int64 {
	if o.Time.IsZero() {
		return time.Now().Unix()
	}
	return o.Time.Unix()
}
