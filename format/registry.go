package format

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/sink"
)

// Codec is what a format package registers. It lives within this module: the
// types of its functions are internal.
type Codec struct {
	// Name is the format's name in Open, Create and errors: "mag".
	Name string
	// Extensions lists the usual file name endings, ".mag".
	Extensions []string
	// Detect reports whether a file that begins with head (up to SniffLen
	// bytes) and has size bytes is of this format, whole or broken.
	Detect func(head []byte, size int64) bool
	// Parse reads the structure of the file in r. The model owns r if it succeeds.
	// Options have their defaults filled in.
	Parse func(r *mapped.Region, o *Options) (Model, error)
	// Losses adds to l everything of the plan that a file of this format cannot
	// hold, from the plan alone; nil means that there is never anything. Encode
	// gets a plan without what was left out, and renames or converts the rest of
	// what is on the list: the caller has accepted that.
	Losses func(p *Plan, o *WriteOptions, l *LossList)
	// Encode starts writing a file to t. The plan is checked and completed, and
	// not the caller's.
	Encode func(t sink.Target, p *Plan, o *WriteOptions) (Encoder, error)
	// OpenDir opens a directory as one model; nil where there is no such thing.
	OpenDir func(dir string, o *Options) (Model, error)
	// Create replaces the usual way to a path, one file made by Encode, for
	// formats whose models may take several; nil for the others.
	Create func(path string, p *Plan, o *WriteOptions) (Writer, error)
}

// Encoder is a format's part in writing a file: the Writer that Create returns
// checks names and sizes and calls it once for each tensor.
type Encoder interface {
	// Tensor stores the data of tensor i of the plan, all that in delivers.
	Tensor(i int, in *sink.Input) error
	// Finish completes the file after the last tensor. (A target is abandoned
	// without Finish; an Encoder that holds other resources implements io.Closer,
	// which is called in the end in either case.)
	Finish() error
}

// SniffLen is how many bytes Detect looks at.
const SniffLen = 256

var registry struct {
	sync.RWMutex
	codecs []*Codec // sorted by name
}

// Register makes a format known. Format packages call it from init; a name
// that is taken or a missing function is a mistake of the program and panics.
func Register(c *Codec) {
	registry.Lock()
	defer registry.Unlock()
	if c.Name == "" || c.Detect == nil || c.Parse == nil || c.Encode == nil {
		panic("format: Register of an incomplete codec " + c.Name)
	}
	at, taken := slices.BinarySearchFunc(registry.codecs, c.Name, func(c *Codec, name string) int {
		return strings.Compare(c.Name, name)
	})
	if taken {
		panic("format: Register called twice for " + c.Name)
	}
	registry.codecs = slices.Insert(registry.codecs, at, c)
}

// codecs returns the registered formats, sorted by name.
func codecs() []*Codec {
	registry.RLock()
	defer registry.RUnlock()
	return registry.codecs[:len(registry.codecs):len(registry.codecs)]
}

// Formats returns the names of the registered formats, sorted.
func Formats() []string {
	var names []string
	for _, c := range codecs() {
		names = append(names, c.Name)
	}
	return names
}

// Lookup returns the registered codec of that name.
func Lookup(name string) (*Codec, error) {
	for _, c := range codecs() {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, &Error{Field: "format", Offset: -1, Err: fmt.Errorf("%w: %q (registered: %s)", ErrUnknownFormat, name, strings.Join(Formats(), ", "))}
}

// ByExtension returns the codec whose files usually end like path.
func ByExtension(path string) (*Codec, bool) {
	ext := strings.ToLower(filepath.Ext(path))
	for _, c := range codecs() {
		if slices.Contains(c.Extensions, ext) {
			return c, true
		}
	}
	return nil, false
}

// Detect names the format of a file that begins with head (SniffLen bytes are
// plenty) and has size bytes. It goes by content alone. ErrUnknownFormat when no
// registered format claims it; the first in order of names when several do.
func Detect(head []byte, size int64) (string, error) {
	c, err := detect(head, size, "")
	if err != nil {
		return "", err
	}
	return c.Name, nil
}

// detect goes by content; the extension of path only breaks ties.
func detect(head []byte, size int64, path string) (*Codec, error) {
	var found *Codec
	for _, c := range codecs() {
		if !c.Detect(head, size) {
			continue
		}
		if found == nil || slices.Contains(c.Extensions, strings.ToLower(filepath.Ext(path))) {
			found = c
		}
	}
	if found == nil {
		return nil, unknown(head, path)
	}
	return found, nil
}

// unknown is the error for a file that no format claims. Its extension says at
// least which format was expected.
func unknown(head []byte, path string) error {
	e := &Error{Field: "magic", Offset: 0}
	begins := "the file is empty"
	if len(head) > 0 {
		begins = fmt.Sprintf("the file begins with % x", head[:min(len(head), 8)])
	}
	if c, ok := ByExtension(path); ok {
		e.Format = c.Name
		e.Err = fmt.Errorf("%w: %w: %s", ErrUnknownFormat, ErrMagic, begins)
	} else {
		e.Err = fmt.Errorf("%w: %s", ErrUnknownFormat, begins)
	}
	return e
}
