package mobile

import (
	"fmt"
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
	// MaxMemory bounds what the library holds for the model, all together: its
	// structure, inflated sections, a graph while it is built, tensors that are
	// decoded. It does not count what is mapped or came in by OpenBytes, nor what was
	// handed over. 0 means no sum, but a graph is held to 16 MiB and 16 times its bytes
	// in the file. What would take more fails with CodeLimit.
	MaxMemory int64
	// CacheBytes bounds the tensors that are kept once they were read, where there was no room to map the file.
	CacheBytes int64
	// Lock keeps the whole file in physical memory. A limit of the system is CodeLimit.
	Lock bool
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
		Format:     o.Format,
		Check:      check,
		MaxMemory:  o.MaxMemory,
		CacheBytes: o.CacheBytes,
		Lock:       o.Lock,
		Key:        o.Key,
		Dir:        o.Dir,
		Debug:      o.Debug,
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
