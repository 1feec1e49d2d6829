package onnx

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open ONNX model. Its methods are safe for concurrent use. The zero File is
// closed.
type File struct {
	m *format.Model
	f *parsed
}

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
	f, ok := m.DriverFile().(*parsed)
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

// Model returns the file as a model, which is closed with it.
func (f *File) Model() *format.Model { return f.m }

// Format returns "onnx".
func (f *File) Format() string { return f.m.Format() }

// Version returns the IR version, "8", or "unknown" when the file does not say.
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns what the model says of itself: ir_version, producer_name,
// producer_version, domain, model_version, doc_string, opsets, then metadata_props.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none. It takes some
// tens of nanoseconds and does not allocate.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in file order, which is that of the initializers; sparse
// ones come last.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in file order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Notes lists what is tolerable but worth knowing about the file.
func (f *File) Notes() []string { return f.m.Notes() }

// Verify finds a structure that changed since it was read, and touches all data, so that
// a file that was cut short does not pass. The format has neither checksums nor
// signatures: a trusted key is ErrSignature. Other errors are those of
// format.Model.Verify.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the file's memory as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close: Close returns, but slices stay valid until the last
// unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read all files ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps all files.
// A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }

// Graph returns the neutral form of the graph, nil for a file of tensors alone. Tensors
// of attributes are views of their own.
func (f *File) Graph() (*format.Graph, error) { return f.m.Graph() }

// OperatorSet is a version of a set of operators that a graph is made for.
type OperatorSet struct {
	Domain  string `json:"domain"` // "" or "ai.onnx" for ONNX's own
	Version int64  `json:"version"`
}

// OperatorSets returns the operator sets that the model imports, nil after Close.
func (f *File) OperatorSets() []OperatorSet {
	value, _ := f.Metadata().Get(keyOperatorSets)
	list, _ := opsets.Parse(value)
	var sets []OperatorSet
	for _, s := range list {
		sets = append(sets, OperatorSet(s))
	}
	return sets
}

// IRVersion returns the version of the representation, 0 when the file does not say, and
// after Close.
func (f *File) IRVersion() int64 {
	for _, e := range f.Metadata() {
		if n, ok := e.Value.(int64); ok && e.Key == keyIRVersion {
			return n
		}
	}
	return 0
}

// Strings returns the elements of a tensor of strings, in memory of the caller's. They
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
		return s.Each(tensorMsg, protobuf.Field{End: s.Size}, func(fl protobuf.Field) error {
			text, err := s.Bytes(fl.Start, fl.End)
			list = append(list, string(text))
			return err
		})
	})
	return list, err
}
