package mle

import (
	"context"
	"crypto/ed25519"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// File is an open .mle file: a model, and what only this format has. Tensors are the
// descriptors that have data; IR lists the others too. Its methods are safe for concurrent use.
type File struct {
	*format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r. Everything but the weights
// is fetched now, tensors on demand.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return file(codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
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

// Header returns the header.
func (f *File) Header() Header { return f.f.h }

// MetadataJSON returns the metadata as the file has it, nil when there is none. It must not
// be changed.
func (f *File) MetadataJSON() []byte { return f.f.meta }

// CompressionInfo is what a file says of its compression.
type CompressionInfo struct {
	Method           Method
	Level            uint8 // as recorded, 1 to 9 by the specification
	QuantizationBits uint8
	Uncompressed     int64 // bytes of the weights before compression
	Stored           int64 // and after, without encryption
	Checksum         uint32
	Chunks           int // 0 when the weights are compressed in one piece
}

// Compression returns what the compression section says, false without one. An
// encrypted file has one of MethodNone when its weights are not compressed.
func (f *File) Compression() (CompressionInfo, bool) {
	p := f.f.comp
	if p == nil {
		return CompressionInfo{}, false
	}
	info := CompressionInfo{
		Method: p.method, Level: p.level, QuantizationBits: p.bits,
		Uncompressed: p.size, Stored: f.f.h.plainSize(), Checksum: p.checksum,
	}
	if p.chunked {
		info.Chunks = len(p.chunks)
	}
	return info, true
}

// CheckSignature hashes the file and checks its signature against the key that
// the caller trusts, which may be nil. The key in the file only says who
// claims to have signed. The error tells what kept it from finding out.
func (f *File) CheckSignature(ctx context.Context, trusted ed25519.PublicKey) (SignatureStatus, error) {
	var status SignatureStatus
	err := codec.Examine(ctx, f.Model, func(v driver.Verification) (err error) {
		status, err = f.f.checkSignature(v, trusted)
		return err
	})
	return status, err
}
