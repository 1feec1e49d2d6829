package wia

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/opsets"
)

// File is an open WIA-AI-014 file: a format.Model with methods for what only
// this format has. Its methods are safe for concurrent use. The zero File is
// closed.
//
// Version is "1." and the minor version. Metadata has "model_info" and its siblings as
// json.RawMessage. Tensors are in the order of their records. Attribute values of the graph have
// the type of their AttributeType; the value of an attribute that refers to one of an enclosing
// function is nil. Initializers is never nil: it lists the tensors that the graph declares.
// Signature.PublicKey is nil if the file has no key or the key cannot be parsed.
//
// Verify checks the SHA-256 of the header, metadata, graph and tensor blocks and
// of external data, and that compressed tensors inflate to their size. It fails
// for a file without a signature block, which has no checksums. With a trusted
// key, it also checks that the signature is valid and made with that key, and
// that external data has checksums, since the signature covers it only through
// them. Without one, it checks that the key in the file made the signature, if
// there is one. The tensor block has one checksum for all its tensors: VerifyOptions.Tensors
// skips it only if all the tensors it names are external.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the WIA file at path and reads and checks its structure. Nil options
// work. Errors are of type *tensor.Error, with the path of the field, such as
// "graph.nodes[3].attributes[1].t.dims", and its offset in the file.
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

// Compression returns the compression of the metadata and graph blocks.
func (f *File) Compression() Compression {
	if f.f == nil {
		return None
	}
	return f.f.hdr.compression
}

// Encrypted reports whether metadata, graph and tensors are encrypted. An
// encrypted file opens only with its key.
func (f *File) Encrypted() bool { return f.f != nil && f.f.hdr.encryption > 0 }

// External reports whether the data of a tensor is in an external file.
func (f *File) External(name string) (external bool) {
	_ = f.Guard(func() error {
		i, ok := f.f.index.Lookup(name)
		external = ok && f.f.records[i].external >= 0
		return nil
	})
	return external
}

// OperatorSets returns the operator sets in the metadata under "opsets". It
// returns nil if there are none or the value has another form, and after Close.
func (f *File) OperatorSets() []schema.OperatorSet {
	meta, _ := f.Metadata() // fails after Close only
	return opsets.In(meta)
}
