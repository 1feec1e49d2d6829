package mobi

import (
	"context"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/tensor"
)

var (
	_ format.Model      = (*File)(nil)
	_ format.Grapher    = (*File)(nil)
	_ format.Noter      = (*File)(nil)
	_ format.Prefetcher = (*File)(nil)
)

// File is an open MOBI file. Its methods are safe for concurrent use.
type File struct {
	*catalog.Catalog
	header  Header
	opts    format.Options
	model   modelInfo
	records []record     // the constants, in file order
	graph   []byte       // the operator graph of a file behind a reader
	footer  atomic.Int32 // 1 + the Footer, once it was found to be right
	seen    oddities
}

// modelInfo is the model metadata section with the specs that follow it.
type modelInfo struct {
	name      string
	framework uint32
	created   uint64
	inputs    []Spec
	outputs   []Spec
}

// record is where the data of a constant lie.
type record struct {
	id     uint32
	offset uint32
	stored uint32
	gzip   bool
}

// Open maps the MOBI file at path. Nil options work. The header checksum is
// verified now, and the footer before the first byte of any constant is handed
// out, unless the options ask for both at once (CheckAll) or for neither
// (CheckStructure).
// Errors are *format.Error with field and offset in the file, or wrap those of
// package os.
func Open(path string, o *format.Options) (*File, error) {
	return format.As[*File](codec.Open(path, o))
}

// OpenBytes reads a file from memory, which must not change while it is in use.
func OpenBytes(b []byte, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenBytes(b, o))
}

// OpenReaderAt reads a file of size bytes through r: the structure now; all of
// it once, for the footer, when the data of a constant are first asked for; and
// the data of a constant each time they are.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file, such as an uncompressed
// asset of an Android package; size -1 means to the end. f may be closed
// afterwards.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenFile(f, off, size, o))
}

// Validate opens the file at path, verifies all of it, compressed constants
// included, and closes it. Nil means that the file is sound.
func Validate(path string) error { return validate(Open(path, nil)) }

// ValidateBytes is Validate for a file in memory.
func ValidateBytes(b []byte) error { return validate(OpenBytes(b, nil)) }

func validate(f *File, err error) error {
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Verify(context.Background())
}

// parse reads the structure of the file in r.
func parse(r *mapped.Region, o *format.Options) (*File, error) {
	sums := o.Check != format.CheckStructure
	h, err := readHeader(r, sums)
	if err != nil {
		return nil, err
	}
	f := &File{header: h, opts: *o}
	p := parser{File: f, src: source{region: r}}
	if err := p.limit(); err != nil {
		return nil, err
	}
	if err := p.metadata(); err != nil {
		return nil, err
	}
	if err := p.constants(); err != nil {
		return nil, err
	}
	if err := p.operators(); err != nil {
		return nil, err
	}
	if sums {
		f.HoldBack(f.judge)
	}
	return f, nil
}

// Header returns the fields of the header as they lie in the file.
func (f *File) Header() Header { return f.header }

// Name returns the model's name, which may be empty.
func (f *File) Name() string { return f.model.name }

// FrameworkVersion returns the number the metadata record.
func (f *File) FrameworkVersion() uint32 { return f.model.framework }

// Timestamp returns the creation time in Unix seconds.
func (f *File) Timestamp() uint64 { return f.model.created }

// Footer says which sum the file ends with. ok is false before the footer was
// checked and found right, by the first use of a constant or by Verify.
func (f *File) Footer() (footer Footer, ok bool) {
	n := f.footer.Load()
	return Footer(max(n-1, 0)), n > 0
}

// Inputs returns the input specs, not to be changed.
func (f *File) Inputs() []Spec { return f.model.inputs }

// Outputs returns the output specs, not to be changed.
func (f *File) Outputs() []Spec { return f.model.outputs }

// Constant returns the constant with that id, whose tensor name is the id in
// decimal.
func (f *File) Constant(id uint32) (tensor.View, bool) {
	i, ok := f.index(id)
	if !ok {
		return tensor.View{}, false
	}
	return f.At(i), true
}

// Constants walks the constants in file order.
func (f *File) Constants() iter.Seq2[uint32, tensor.View] {
	return func(yield func(uint32, tensor.View) bool) {
		for i := range f.records {
			if !yield(f.records[i].id, f.At(i)) {
				return
			}
		}
	}
}

// Metadata returns name, framework_version, creation_timestamp and flags.
func (f *File) Metadata() format.Metadata {
	return format.Metadata{
		{Key: keyName, Value: f.model.name},
		{Key: keyFramework, Value: int64(f.model.framework)},
		{Key: keyCreated, Value: number(f.model.created)},
		{Key: keyFlags, Value: int64(f.header.Flags)},
	}
}
