package mobile

import (
	"cmp"
	"strconv"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
)

// Values of Options.Check.
const (
	CheckDefault   = ""          // what the format demands of readers
	CheckStructure = "structure" // the layout only, no checksums
	CheckTouch     = "touch"     // checksums of data before its first use
	CheckAll       = "all"       // everything on opening, as Verify does
)

var checks = map[string]format.Check{
	CheckDefault: format.CheckDefault, CheckStructure: format.CheckStructure,
	CheckTouch: format.CheckTouch, CheckAll: format.CheckAll,
}

// DefaultMaxMemory is Options.MaxMemory when it is 0: 256 MiB. With Go's garbage, up to as much
// again, a model takes at most 512 MiB. iOS kills an app that takes more than its limit, reported
// as about 1.4 GB on iPhones with 2 GB. Mapped files do not count, however large.
const DefaultMaxMemory = 256 << 20

// Options changes how a model is opened. New options change nothing, and null does as
// well. Changing options after opening has no effect on the model.
type Options struct {
	// Format names the format, such as "mobi", instead of detecting it by content.
	Format string
	// Check is CheckDefault, CheckStructure, CheckTouch or CheckAll.
	Check string
	// Key decrypts an encrypted file: 32 bytes.
	Key []byte
	// Dir is the directory of external data files when the model is not opened by path.
	Dir string
	// MaxMemory limits the memory that the library holds for the model: its
	// structure, inflated sections, the graph, decoded tensors. The mapping, the data of
	// OpenBytes, and copies that calls returned do not count, but no single copy may be
	// larger. 0 means DefaultMaxMemory. Raise it for large compressed models. What would
	// take more fails with CodeLimit.
	MaxMemory int64
	// CacheBytes limits the memory for tensors that were read from a file too large to map.
	CacheBytes int64
	// Lock keeps the whole file in physical memory, or fails with CodeLimit where the
	// system does not allow it.
	Lock bool
	// Canceler ends opening, which takes long with CheckAll. It may be null.
	Canceler *Canceler
	// Debug makes Close revoke access to the memory instead of freeing it, so that a use
	// after Close crashes the app at once. For tests only.
	Debug bool
}

// NewOptions returns options that change nothing.
func NewOptions() *Options { return &Options{} }

// open calls open with the options for package format. It works on nil.
func (o *Options) open(open func(*format.Options) (*format.Model, error)) (*Model, error) {
	o = cmp.Or(o, &Options{})
	check, ok := checks[o.Check]
	if !ok {
		return nil, wire.Errorf("", "options", -1, format.ErrOption, "check %q", o.Check)
	}
	var f format.Format
	if o.Format != "" {
		var err error
		f, err = format.ByName(o.Format)
		if err != nil {
			return nil, err
		}
	}
	limit := cmp.Or(o.MaxMemory, DefaultMaxMemory)
	m, err := open(&format.Options{
		Context:    o.Canceler.context(),
		Format:     f,
		Check:      check,
		MaxMemory:  limit,
		CacheBytes: o.CacheBytes,
		Lock:       o.Lock,
		Key:        o.Key,
		Dir:        o.Dir,
		Debug:      o.Debug,
	})
	if err != nil {
		return nil, err
	}
	return newModel(m, limit), nil
}

// Open maps the model file at path and reads its structure; the format is
// detected by content. options may be null.
func Open(path string, options *Options) (*Model, error) {
	return options.open(func(o *format.Options) (*format.Model, error) { return format.Open(path, o) })
}

// OpenBytes reads a model from memory. It copies the bytes: for a large model a file is
// better. options may be null.
func OpenBytes(data []byte, options *Options) (*Model, error) {
	b := memory.Aligned(len(data))
	copy(b, data)
	return options.open(func(o *format.Options) (*format.Model, error) { return format.OpenBytes(b, o) })
}

// opened counts models, for their keys.
var opened atomic.Uint64

func newModel(m *format.Model, limit int64) *Model {
	key := strconv.FormatUint(opened.Add(1), 10)
	return &Model{Key: key, m: m, names: namesOf(m), limit: limit, closing: NewCanceler(), addresses: map[string]int64{}}
}
