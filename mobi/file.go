package mobi

import (
	"iter"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open MOBI file. Its tensors are the constants, named by their ids in
// decimal. Its methods are safe for concurrent use.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the MOBI file at path and reads its structure. Nil options work. Open
// checks the header checksum; the footer is checked before the first byte of any
// constant is returned. With CheckAll, Open checks both; with CheckStructure,
// neither is checked.
//
// Errors are of type *tensor.Error, with the field and its offset in the file, or
// wrap those of package os.
func Open(path string, o *format.Options) (*File, error) {
	m, err := format.Open(path, o.With(Format{}))
	if err != nil {
		return nil, err
	}
	return &File{m, m.Own().(*parsed)}, nil
}

// From returns m as a File: one that was opened from memory (format.OpenBytes), a reader or a
// descriptor, for example. It reports false if m has another format.
func From(m *format.Model) (*File, bool) {
	f, ok := m.Own().(*parsed)
	if !ok {
		return nil, false
	}
	return &File{m, f}, true
}

// Header returns the header of the file.
func (f *File) Header() Header { return f.f.header }

// Name returns the model's name, which may be empty.
func (f *File) Name() string { return f.f.model.name }

// FrameworkVersion returns the framework version in the metadata.
func (f *File) FrameworkVersion() uint32 { return f.f.model.framework }

// Timestamp returns the creation time in Unix seconds.
func (f *File) Timestamp() uint64 { return f.f.model.created }

// Inputs returns the input specs. The caller must not modify them.
func (f *File) Inputs() []Spec { return f.f.model.inputs }

// Outputs returns the output specs. The caller must not modify them.
func (f *File) Outputs() []Spec { return f.f.model.outputs }

// Operators returns the operators in file order. The caller must not modify them.
func (f *File) Operators() []Operator { return f.f.operators }

// Constant returns the constant with the given id, or ErrNotFound.
func (f *File) Constant(id uint32) (tensor.View, error) {
	return f.Tensor(constantName(id))
}

// Constants returns an iterator over the ids and views of the constants, in file
// order.
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
