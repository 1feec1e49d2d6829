package onnx

import "github.com/weightmap/weightmap/format"

// WriteOptions are the options for writing ONNX files. Nil and the zero value work and
// store all data in the model.
type WriteOptions struct {
	format.WriteOptions
	// ExternalFrom moves tensors of at least this many bytes to another file in the
	// model's directory; 0 moves none. It needs Create: a stream has no directory.
	ExternalFrom int64
	// External is the beginning of that file's location, relative to the model's
	// directory and with slashes; "" means the model's file name. A hash of the data is
	// appended, so that a new file never replaces one that a model needs: the data of
	// "m.onnx" is in "m.onnx.<16 hexadecimal digits>.data"; see the package documentation.
	External string
}

// common returns the options that all formats have.
func (o *WriteOptions) common() *format.WriteOptions { return &o.WriteOptions }
