package wia

import (
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// File is an open WIA-AI-014 file: a format.Model with what only this format has. Its methods
// are safe for concurrent use. The zero File is closed.
//
// Version is "1." and the minor version. Metadata has "model_info" and its siblings as
// json.RawMessage; ModelMetadata returns the typed form. Tensors come in the order of their
// records. Attribute values of the graph have the types their AttributeType says; one without a
// value (a reference to one of an enclosing function) is nil; Initializers is never nil: it lists
// what the graph declares. Signature.PublicKey is nil when the file names no key, or none that
// can be read.
//
// Verify checks the SHA-256 of header, metadata, graph and tensor block, those of external
// data, and that compressed tensors inflate to their size. A file without a signature block
// carries no checksums and fails. With a trusted key the signature must be valid and by that
// key, and external data must have checksums, or it would not cover it. The tensor block has one
// checksum for all its tensors: WithTensors skips it only when all tensors named are external.
type File struct {
	*format.Model
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
	err = f.Do(func() error {
		b = append(b, f.f.graph.Win...)
		return nil
	})
	return b, err
}

// TensorMessage returns the record of a tensor: a message Tensor of wia.proto in wire form,
// without raw_data.
func (f *File) TensorMessage(name string) (b []byte, err error) {
	err = f.Do(func() (err error) {
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
	_ = f.Do(func() error {
		i, ok := f.f.index.Lookup(name)
		external = ok && f.f.records[i].external
		return nil
	})
	return external
}
