package onnx

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open ONNX model. It adds methods of this format to format.Model. Its methods
// are safe for concurrent use. The zero File is closed.
//
// Version is the IR version, such as "8", or "unknown" if the file has none. Metadata returns
// ir_version, producer_name, producer_version, domain, model_version, doc_string and opsets,
// followed by metadata_props. Tensors are in the order of the file. Graph returns nil for a file
// that has only tensors; tensors of attributes are views. The format has neither checksums nor
// signatures: Verify only detects a structure that changed, or data that was cut off, since the
// file was opened, and a trusted key is ErrSignature.
type File struct{ *format.Model }

// Open maps the file at path and reads its structure. Files of external data are mapped
// on first use. Nil options work.
func Open(path string, o *format.Options) (*File, error) {
	m, err := format.Open(path, o.With(Format{}))
	if err != nil {
		return nil, err
	}
	return &File{m}, nil
}

// From returns m as a File: one that was opened from memory (format.OpenBytes), a reader or a
// descriptor, for example. It reports false if m has another format.
func From(m *format.Model) (*File, bool) {
	_, ok := m.Own().(*parsed)
	if !ok {
		return nil, false
	}
	return &File{m}, true
}

// OperatorSets returns the operator sets that the model imports, or nil after Close.
func (f *File) OperatorSets() []schema.OperatorSet {
	meta, _ := f.Metadata() // fails after Close only
	return opsets.In(meta)
}

// Strings returns a copy of the elements of a tensor of strings, which may be arbitrary
// bytes. It returns ErrDType for other tensors.
func (f *File) Strings(name string) ([]string, error) {
	v, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	info := v.Info()
	if info.Encoding == nil || info.Encoding.Name != elemTypes[stringCode].name {
		err := fmt.Errorf("%w: %s elements are no strings", format.ErrDType, info.TypeName())
		field := fmt.Sprintf("tensor %q", name)
		return nil, &tensor.Error{
			Format: formatName, Path: f.Path(), Field: field, Offset: -1, Err: err,
		}
	}
	v, err = v.Clone() // what is parsed must not change
	if err != nil {
		return nil, err
	}
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	list := []string{}
	for f := messages.Outermost(string(b)).Cursor(); f.Next(); {
		list = append(list, f.Text())
	}
	return list, nil
}
