package mobi

import (
	"context"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open MOBI file: a model whose tensors are the constants, named by their ids
// in decimal. Its methods are safe for concurrent use.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the MOBI file at path and reads its structure. Nil options work. The
// header checksum is verified now, and the footer before the first byte of any
// constant is returned, unless the options ask for both at once (CheckAll) or for
// neither (CheckStructure).
// Errors are *format.Error with field and offset in the file, or wrap those of
// package os.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is in use.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r: the structure now; all of
// it once, for the footer, when a constant is first used; and the data of a
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

// Header returns the fields of the header as they are in the file.
func (f *File) Header() Header { return f.f.header }

// Name returns the model's name, which may be empty.
func (f *File) Name() string { return f.f.model.name }

// FrameworkVersion returns the number that the metadata records.
func (f *File) FrameworkVersion() uint32 { return f.f.model.framework }

// Timestamp returns the creation time in Unix seconds.
func (f *File) Timestamp() uint64 { return f.f.model.created }

// Footer says which checksum the file ends with. ok is false before the footer was
// checked and found right, by the first use of a constant or by Verify.
func (f *File) Footer() (footer Footer, ok bool) {
	known := f.f.footer.Load()
	if known == nil || known.err != nil {
		return 0, false
	}
	return known.kind, true
}

// Inputs returns the input specs, not to be changed.
func (f *File) Inputs() []Spec { return f.f.model.inputs }

// Outputs returns the output specs, not to be changed.
func (f *File) Outputs() []Spec { return f.f.model.outputs }

// Operators returns the operators in file order, not to be changed.
func (f *File) Operators() []Operator { return f.f.operators }

// Constant returns the constant with that id; ErrNotFound when there is none.
func (f *File) Constant(id uint32) (tensor.View, error) {
	if i, ok := f.f.lookup(id); ok {
		return f.At(i), nil
	}
	return f.Tensor(constantName(id))
}

// Constants walks the constants in file order.
func (f *File) Constants() iter.Seq2[uint32, tensor.View] {
	return func(yield func(uint32, tensor.View) bool) {
		for name, v := range f.Tensors() {
			id, _ := parseDecimal(name, 32)
			if !yield(uint32(id), v) {
				return
			}
		}
	}
}
