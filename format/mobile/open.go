package mobile

import (
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
)

// What Options.Check may say.
const (
	CheckDefault   = ""          // what the format demands of readers
	CheckStructure = "structure" // the layout only, no checksums
	CheckTouch     = "touch"     // checksums of data before its first use
	CheckAll       = "all"       // everything on opening, as Verify does
)

// checks translates them.
var checks = map[string]format.Check{
	CheckDefault: format.CheckDefault, CheckStructure: format.CheckStructure,
	CheckTouch: format.CheckTouch, CheckAll: format.CheckAll,
}

// Options changes how a model is opened. A fresh one changes nothing, and
// where one is asked for, null will do. It is read when a model is opened;
// changing it later has no effect on that model.
type Options struct {
	// Format forces a format by name, such as "mobi", instead of detecting it by
	// content.
	Format string
	// Check is CheckDefault, CheckStructure, CheckTouch or CheckAll.
	Check string
	// Key decrypts an encrypted file: 32 bytes.
	Key []byte
	// Dir is where external data files are looked for when the model was not
	// opened by path.
	Dir string
	// MaxTensors refuses files with more tensors; 0 means 4,194,304.
	MaxTensors int64
	// MaxHeaderBytes bounds what must be held in memory besides tensor data; 0
	// means 1 GiB.
	MaxHeaderBytes int64
	// MaxMetadataBytes bounds compressed metadata once inflated; 0 means 64 MiB,
	// and no more than 256 times the stored size or 16 MiB, whichever is more.
	MaxMetadataBytes int64
	// MaxGraphBytes bounds a compressed graph once inflated; 0 means 1 GiB, and no
	// more than 256 times the stored size or 16 MiB, whichever is more.
	MaxGraphBytes int64
	// MaxMemory bounds what the library holds for the model, all together: its
	// structure, inflated sections, a graph while it is built, tensors that are
	// decoded. It does not count what is mapped or came in by OpenBytes, nor what was
	// handed over. 0 means no sum, but a graph is held to 16 MiB and 16 times its bytes
	// in the file. What would take more fails with CodeLimit.
	MaxMemory int64
	// MaxMapped bounds the address space that the model maps, in bytes; 0 means no limit.
	// What does not fit, and everything with OnDemand, is read when it is asked for, of which
	// CacheBytes are kept.
	MaxMapped, CacheBytes int64
	OnDemand              bool
	// Populate reads the whole file into memory when it is opened, and Lock keeps it there.
	// A limit of the system is CodeLimit.
	Populate, Lock bool
	// Private opens a copy, for files that somebody may overwrite in place.
	Private bool
	// Debug makes Close withdraw access to the memory instead of giving it
	// back, so that a use after Close stops the app at once. For tests only.
	Debug bool
}

// NewOptions returns options that change nothing.
func NewOptions() *Options { return &Options{} }

// options translates, and works on nil.
func (o *Options) options() (*format.Options, error) {
	if o == nil {
		return nil, nil
	}
	check, ok := checks[o.Check]
	if !ok {
		return nil, &format.Error{Field: "options", Offset: -1, Err: fmt.Errorf("%w: check %q", format.ErrOption, o.Check)}
	}
	return &format.Options{
		Format:           o.Format,
		Check:            check,
		MaxTensors:       int(max(-1, min(o.MaxTensors, math.MaxInt))), // also where int has 32 bits
		MaxHeaderBytes:   o.MaxHeaderBytes,
		MaxMetadataBytes: o.MaxMetadataBytes,
		MaxGraphBytes:    o.MaxGraphBytes,
		MaxMemory:        o.MaxMemory,
		MaxMapped:        o.MaxMapped,
		CacheBytes:       o.CacheBytes,
		OnDemand:         o.OnDemand,
		Populate:         o.Populate,
		Lock:             o.Lock,
		Private:          o.Private,
		Key:              o.Key,
		Dir:              o.Dir,
		Debug:            o.Debug,
	}, nil
}

// Open maps the model file at path and reads its structure; the format is
// detected by content. options may be null.
func Open(path string, options *Options) (*Model, error) {
	o, err := options.options()
	if err != nil {
		return nil, err
	}
	return newModel(format.Open(path, o))
}

// OpenBytes reads a model from memory. The bytes are copied, once, since those
// of the app are only lent for the call: for a large model a file is better.
// options may be null.
func OpenBytes(data []byte, options *Options) (*Model, error) {
	o, err := options.options()
	if err != nil {
		return nil, err
	}
	b := memory.Aligned(len(data))
	copy(b, data)
	return newModel(format.OpenBytes(b, o))
}

// OpenDescriptor maps length bytes from offset of an open file descriptor, such
// as an uncompressed Android asset; a negative length means to the end of the
// file. The descriptor stays the caller's: its position does not move, and it may
// be closed as soon as this returns. FileOffset of the tensors counts from
// offset. options may be null.
func OpenDescriptor(fd int32, offset, length int64, options *Options) (*Model, error) {
	o, err := options.options()
	if err != nil {
		return nil, err
	}
	f, err := duplicate(fd)
	if err != nil {
		return nil, &format.Error{Field: "descriptor", Offset: -1, Err: err}
	}
	defer f.Close()
	return newModel(format.OpenFile(f, offset, length, o))
}

// opened counts models, for their keys.
var opened atomic.Uint64

// newModel wraps what format opened.
func newModel(m *format.Model, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	return &Model{Key: strconv.FormatUint(opened.Add(1), 10), m: m}, nil
}
