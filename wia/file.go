package wia

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open WIA-AI-014 file. Its methods are safe for concurrent use,
// Close included. The zero File is closed.
type File struct {
	m *format.Model
	f *parsed
}

// Open maps the file at path, which must be of this format, checks its structure
// and reads its index. Nil options work. Errors are *format.Error values with
// the path of the field, such as "graph.nodes[3].attributes[1].t.dims", and
// its offset in the file.
func Open(path string, o *format.Options) (*File, error) { return file(wiaCodec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is in use.
// External data is looked for in Options.Dir.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(wiaCodec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r: the metadata, the graph
// and the descriptions of the tensors at once, data when it is asked for.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(wiaCodec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file, -1 for all up to its end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return file(wiaCodec.OpenFile(f, off, size, o))
}

// From returns the File of a model that package format opened, and whether it
// is one of this format.
func From(m *format.Model) (*File, bool) {
	f, ok := wiaCodec.Own(m).(*parsed)
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

// Format returns "wia".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1." and the minor version.
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns the pairs of the metadata block: "model_info" and its
// siblings as json.RawMessage, in file order. It is empty after Close; see
// ModelMetadata for the typed form.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors that have data.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none. The
// first use of an external file maps it.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in file order, which is that of their records.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in file order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Graph returns the graph in its neutral form, nil when the block is empty.
// Attribute values have the types their AttributeType says; an attribute
// without a value (a reference to one of an enclosing function) has nil.
// Initializers is never nil: it lists what the graph declares.
func (f *File) Graph() (*format.Graph, error) { return f.m.Graph() }

// Notes names what was noticed and tolerated.
func (f *File) Notes() []string { return f.m.Notes() }

// Signature returns what the file says of its signer, nil for an unsigned file.
// PublicKey is nil when the file names no key, or none that can be read.
func (f *File) Signature() *format.Signature { return f.m.Signature() }

// Verify checks the SHA-256 of header, metadata, graph and tensor block, those
// of external data, and that compressed tensors inflate to their size. A file
// without a signature block carries no checksums and fails. With a trusted key
// the signature must be valid and by that key, and external data must have
// checksums, or it would not cover it; without one it is not looked at.
//
// The tensor block has one checksum for all its tensors: WithTensors spares it
// only when all tensors named are external (and no signature is checked, which
// would cover it). External data and compressed tensors are checked one by
// one. Blocks and files are hashed in parallel.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the memory of any tensor as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close, that of external files included: Close
// returns, but slices stay valid until the last unpin. unpin may be called more
// than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read the file ahead, and the external files that
// are in use.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file and its external data. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }

// Compression returns how the header says the metadata and graph blocks are
// stored.
func (f *File) Compression() Compression {
	if f.f == nil {
		return None
	}
	return f.f.hdr.compression
}

// Encrypted reports whether metadata, graph and tensors are encrypted. Without
// its key such a file does not open.
func (f *File) Encrypted() bool { return f.f != nil && f.f.hdr.encrypted }

// GraphMessage returns a copy of the graph block, decrypted and inflated: a message Graph
// of wia.proto in wire form, with everything format.Graph has no place for, such as doc
// strings and properties. It is nil when the block is empty, ErrClosed after Close.
func (f *File) GraphMessage() (b []byte, err error) {
	err = f.m.Do(func() error {
		b = append(b, f.f.graph.Win...)
		return nil
	})
	return b, err
}

// TensorMessage returns the record of a tensor: a message Tensor of wia.proto in wire form,
// without raw_data.
func (f *File) TensorMessage(name string) (b []byte, err error) {
	err = f.m.Do(func() (err error) {
		i, ok := f.f.index.Lookup(name)
		if !ok {
			return wire.Error(formatName, fmt.Sprintf("tensor %q", name), -1, format.ErrNotFound)
		}
		b, err = f.f.tensorMessage(i)
		return err
	})
	return b, err
}

// External reports whether the data of a tensor is in another file of the model.
func (f *File) External(name string) (external bool) {
	_ = f.m.Do(func() error {
		i, ok := f.f.index.Lookup(name)
		external = ok && f.f.records[i].external
		return nil
	})
	return external
}
