package mobi

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open MOBI file. Its methods are safe for concurrent use. The zero
// File is closed.
type File struct {
	m *format.Model
	f *parsed
}

// Open maps the MOBI file at path. Nil options work. The header checksum is
// verified now, and the footer before the first byte of any constant is handed
// out, unless the options ask for both at once (CheckAll) or for neither
// (CheckStructure).
// Errors are *format.Error with field and offset in the file, or wrap those of
// package os.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is in use.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r: the structure now; all of
// it once, for the footer, when a constant is first asked for; and the data of a
// constant each time it is.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file, such as an uncompressed
// asset of an Android package; size -1 means to the end. f may be closed
// afterwards.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenFile(f, off, size, o))
}

// From returns the File of a model that package format opened, and whether it
// is one of this format.
func From(m *format.Model) (*File, bool) {
	f, ok := codec.Own(m).(*parsed)
	if !ok {
		return nil, false
	}
	return &File{m, f}, true
}

func file(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	f, _ := From(m)
	return f, nil
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
	_, err = f.Verify(context.Background())
	return err
}

// Model returns the file as a model, which is closed with it.
func (f *File) Model() *format.Model { return f.m }

// Format returns "mobi".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1".
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns name, framework_version, creation_timestamp and flags.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of constants.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the constant whose id in decimal is name, ErrNotFound when there
// is none. It takes some tens of nanoseconds and does not allocate.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the constants in file order.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns constant i in file order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Graph returns the neutral form of the operator graph; it is never nil without
// an error.
//
// Edges are ids in decimal, which for constants are the tensor names. Specs
// carry no ids: when as many ids are consumed and defined by nothing as there
// are inputs, these are the inputs, ascending, and bear their names; likewise
// the ids that are produced and never consumed and the outputs. Otherwise the
// edges stay numbers. Operators have no names. Parameters of int32 become
// int64 attributes; those of quantization stay among them.
func (f *File) Graph() (*format.Graph, error) {
	if f.f == nil {
		return nil, f.m.Do(func() error { return nil })
	}
	return f.m.Graph()
}

// Notes lists what is tolerable but unusual about the file; of the footer, once
// it was checked.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify checks the footer and the header checksum, reads the structure again,
// and decompresses every compressed constant without keeping it. The footer
// covers the whole file, so WithTensors only limits what is decompressed. Errors
// are those of format.Model.Verify; a trusted key is ErrSignature, for the format
// has no signatures.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the file's memory as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close: Close returns, but slices stay valid until
// the last unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read the whole file ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its constants.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }

// closed is what the zero File has read.
var closed parsed

func (f *File) parsed() *parsed {
	if f.f == nil {
		return &closed
	}
	return f.f
}

// Header returns the fields of the header as they are in the file.
func (f *File) Header() Header { return f.parsed().header }

// Name returns the model's name, which may be empty.
func (f *File) Name() string { return f.parsed().model.name }

// FrameworkVersion returns the number that the metadata records.
func (f *File) FrameworkVersion() uint32 { return f.parsed().model.framework }

// Timestamp returns the creation time in Unix seconds.
func (f *File) Timestamp() uint64 { return f.parsed().model.created }

// Footer says which sum the file ends with. ok is false before the footer was
// checked and found right, by the first use of a constant or by Verify.
func (f *File) Footer() (footer Footer, ok bool) { return f.parsed().knownFooter() }

// Inputs returns the input specs, not to be changed.
func (f *File) Inputs() []Spec { return f.parsed().model.inputs }

// Outputs returns the output specs, not to be changed.
func (f *File) Outputs() []Spec { return f.parsed().model.outputs }

// Constant returns the constant with that id, whose tensor name is the id in
// decimal; ErrNotFound when there is none.
func (f *File) Constant(id uint32) (tensor.View, error) {
	if f.f != nil {
		if i, ok := f.f.lookup(id); ok {
			return f.m.At(i), nil
		}
	}
	return f.m.Tensor(constantName(id))
}

// Constants walks the constants in file order.
func (f *File) Constants() iter.Seq2[uint32, tensor.View] {
	return func(yield func(uint32, tensor.View) bool) {
		for i, r := range f.parsed().records {
			if !yield(r.id, f.m.At(i)) {
				return
			}
		}
	}
}

// Operators returns the operators in file order, in memory of their own. ErrLimit for
// more than is in proportion to the file, see format.Options.MaxMemory.
func (f *File) Operators() (ops []Operator, err error) {
	err = f.m.Do(func() error {
		return f.f.build(operatorBytes, idBytes, func() { ops = f.f.decodeOperators() })
	})
	return ops, err
}
