package mle

import (
	"github.com/weightmap/weightmap/format"
)

// File is an open .mle file. Its tensors are the descriptors that have data; IR lists
// the others too. Its methods are safe for concurrent use.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. Nil options work.
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

// Header returns the header.
func (f *File) Header() Header { return f.f.h }

// MetadataJSON returns the text of the metadata, nil if there is none. The caller must
// not modify it.
func (f *File) MetadataJSON() []byte { return f.f.meta }

// CompressionInfo describes the compression of the weights.
type CompressionInfo struct {
	Method           Method // how the weights are compressed
	Level            uint8  // as recorded; 1 to 9 by the specification
	QuantizationBits uint8  // as recorded
	Uncompressed     int64  // bytes of the weights before compression
	Stored           int64  // bytes after compression, without encryption
	Checksum         uint32 // CRC-32 of the uncompressed weights
	Chunks           int    // 0 if the weights are compressed in one piece
}

// Compression returns the contents of the compression section. It reports false if
// there is none. An encrypted file whose weights are not compressed has one with
// MethodNone.
func (f *File) Compression() (CompressionInfo, bool) {
	return f.f.comp.CompressionInfo, f.f.table != nil
}
