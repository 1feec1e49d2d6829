package mle

import (
	"context"
	"crypto/ed25519"
	"io"
	"iter"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// File is an open .mle file. Its methods are safe for concurrent use. Tensors are
// the descriptors that have data; Descriptors lists the others too. The zero File
// is closed.
type File struct {
	m *format.Model
	f *parsed
}

// Open maps the file at path and reads its structure. Nil options work.
func Open(path string, o *format.Options) (*File, error) { return file(codec.Open(path, o)) }

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) { return file(codec.OpenBytes(b, o)) }

// OpenReaderAt reads a file of size bytes through r. Everything but the weights
// is fetched now, tensors when they are asked for.
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

// Model returns the file as a model, which is closed with it.
func (f *File) Model() *format.Model { return f.m }

// Format returns "mle".
func (f *File) Format() string { return f.m.Format() }

// Version returns "1" or "2".
func (f *File) Version() string { return f.m.Version() }

// Path returns the name the file was opened by, "" for bytes and readers.
func (f *File) Path() string { return f.m.Path() }

// Metadata returns the metadata object's pairs in file order, tensor_names
// among them; nil when the file has none.
func (f *File) Metadata() format.Metadata { return f.m.Metadata() }

// Len returns the number of tensors.
func (f *File) Len() int { return f.m.Len() }

// Tensor returns the tensor of that name, ErrNotFound when there is none. It
// takes some tens of nanoseconds and does not allocate.
func (f *File) Tensor(name string) (tensor.View, error) { return f.m.Tensor(name) }

// Tensors walks the tensors in file order, which is that of their descriptors.
func (f *File) Tensors() iter.Seq2[string, tensor.View] { return f.m.Tensors() }

// At returns tensor i in file order, 0 <= i < Len.
func (f *File) At(i int) tensor.View { return f.m.At(i) }

// Graph returns the neutral form of the graph, nil when it has neither nodes
// nor inputs nor outputs. A node's inputs are its input_ids followed by its
// param_ids.
func (f *File) Graph() (*format.Graph, error) { return f.m.Graph() }

// Notes lists what is tolerated about the file. What only Verify can find out
// is among them once it has.
func (f *File) Notes() []string { return f.m.Notes() }

// Signature returns what the signature section says of its signer, nil for an
// unsigned file. It proves nothing: CheckSignature does.
func (f *File) Signature() *format.Signature { return f.m.Signature() }

// NeedsKey reports whether the weights are encrypted and no key was given.
func (f *File) NeedsKey() bool { return f.m.NeedsKey() }

// Verify checks the checksums of header, metadata, graph and stored weights,
// the weights' decryption and decompression with their checksums, and the
// signature: the hash of the file always, the signer when a trusted key
// (ed25519.PublicKey) is given. Without the key of an encrypted file
// everything else is checked, and then the answer is ErrKey.
//
// WithTensors limits the work where the weights are cut into chunks: then only
// the chunks of those tensors are checked. Everywhere else one checksum
// covers all weights. Errors are those of format.Model.Verify.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) (*format.Coverage, error) {
	return f.m.Verify(ctx, opts...)
}

// Do runs fn with faults in the file's memory as errors; see format.Model.Do.
func (f *File) Do(fn func() error) error { return f.m.Do(fn) }

// Pin holds the memory across Close: Close returns, but slices stay valid until
// the last unpin. unpin may be called more than once.
func (f *File) Pin() (unpin func(), err error) { return f.m.Pin() }

// Prefetch asks the system to read the whole file ahead.
func (f *File) Prefetch() error { return f.m.Prefetch() }

// Stats says what the model takes and how it hands out its tensors.
func (f *File) Stats() format.Stats { return f.m.Stats() }

// Close forbids further access, waits for running View.Use calls, unmaps the
// file, and drops the weights that were decompressed. A second Close does nothing.
func (f *File) Close() error { return f.m.Close() }

// Header returns the header.
func (f *File) Header() Header {
	if f.f == nil {
		return Header{}
	}
	return f.f.h
}

// MetadataJSON returns the metadata as the file has it, nil when there is none.
func (f *File) MetadataJSON() ([]byte, error) {
	var b []byte
	err := f.m.Do(func() error {
		b = append(b, f.f.meta...)
		return nil
	})
	return b, err
}

// IR decodes the graph section. ErrLimit for one that is out of proportion, see
// format.Options.MaxMemory.
func (f *File) IR() (*IR, error) {
	var ir *IR
	err := f.m.Do(func() error {
		return f.f.build(func() error {
			ir = f.f.ir()
			return nil
		})
	})
	return ir, err
}

// Descriptors lists all tensors of the graph in file order: what Tensors
// shows, and the placeholders.
func (f *File) Descriptors() ([]Descriptor, error) {
	ir, err := f.IR()
	if err != nil {
		return nil, err
	}
	return ir.Tensors, nil
}

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
	if f.f == nil || f.f.comp == nil {
		return CompressionInfo{}, false
	}
	p := f.f.comp
	c := CompressionInfo{
		Method: p.method, Level: p.level, QuantizationBits: p.bits,
		Uncompressed: p.size, Stored: f.f.h.plainSize(), Checksum: p.checksum,
	}
	if p.chunked {
		c.Chunks = p.chunks()
	}
	return c, true
}

// CheckSignature hashes the file and checks its signature against the key that
// the caller trusts, which may be nil. The key in the file only says who
// claims to have signed. The error tells what kept it from finding out.
func (f *File) CheckSignature(ctx context.Context, trusted ed25519.PublicKey) (SignatureStatus, error) {
	var status SignatureStatus
	err := codec.Examine(ctx, f.m, func(v driver.Verification) (err error) {
		status, err = f.f.checkSignature(v, trusted)
		return err
	})
	return status, err
}
