package onnx

import (
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/protobuf"
)

// File is an open ONNX model: a format.Model with what only this format has. Its methods
// are safe for concurrent use. The zero File is closed.
//
// Version is the IR version, "8", or "unknown" when the file does not say. Metadata returns
// what the model says of itself: ir_version, producer_name, producer_version, domain,
// model_version, doc_string, opsets, then metadata_props. Tensors come in file order, which
// is that of the initializers; sparse ones come last. Graph returns nil for a file of
// tensors alone; tensors of attributes are views of their own. Verify finds a structure
// that changed since it was read, and touches all data, so that a file that was cut short
// does not pass: the format has neither checksums nor signatures, and a trusted key is
// ErrSignature.
type File struct{ *format.Model }

// Open maps the file at path and reads its structure. Files of external data are mapped
// when they are used. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open. External
// data is looked for in Options.Dir.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r, fetching tensors when they are
// asked for. What is not data of initializers is read at once.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenFile(f, off, size, o))
}

// From returns the File of a model that package format opened, and whether it is one of
// this format.
func From(m *format.Model) (*File, bool) {
	if _, ok := codec.Own(m).(*parsed); !ok {
		return nil, false
	}
	return &File{m}, true
}

// file is the File of a model that the codec opened.
func file(m *format.Model, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{m}, nil
}

// OperatorSet is a version of a set of operators that a graph is made for.
type OperatorSet struct {
	Domain  string // "" or "ai.onnx" for ONNX's own
	Version int64
}

// OperatorSets returns the operator sets that the model imports, nil after Close.
func (f *File) OperatorSets() []OperatorSet { return opsets.In[OperatorSet](f.Metadata()) }

// IRVersion returns the version of the representation, 0 when the file does not say, and
// after Close.
func (f *File) IRVersion() int64 { return opsets.IRVersion(f.Metadata()) }

// Strings returns a copy of the elements of a tensor of strings. They
// are arbitrary bytes. Other tensors are ErrDType.
func (f *File) Strings(name string) ([]string, error) {
	v, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	info := v.Info()
	if info.Encoding == nil || info.Encoding.Name != elemTypes[stringCode].name {
		return nil, &format.Error{Format: formatName, Path: f.Path(), Field: fmt.Sprintf("tensor %q", name), Offset: -1,
			Err: fmt.Errorf("%w: %s elements are no strings", format.ErrDType, info.TypeName())}
	}
	list := []string{}
	err = v.Use(func(b []byte) error {
		s := protobuf.InMemory(b)
		return s.Each(tensorMsg, s.All(), func(fl protobuf.Field) error {
			text, err := s.Bytes(fl.Start, fl.End)
			list = append(list, string(text))
			return err
		})
	})
	return list, err
}
