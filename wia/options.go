package wia

import (
	"crypto"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// WriteOptions are the common options and what only this format has. Nil and
// the zero value work: blocks and tensors stored as they are, with checksums.
type WriteOptions struct {
	format.WriteOptions
	// Compression says how the metadata and graph blocks are stored.
	Compression Compression
	// CompressTensor says how a tensor is stored; nil means none is compressed. It gets tensors
	// of the plan, so Compression is "", Stored is Size, and Offset is -1. It may
	// be called more than once for a tensor, and its result for external data is not used.
	// Compressed tensors cannot be views into the mapping, and a file with any
	// cannot be streamed (see Spool), since sizes come first.
	CompressTensor func(tensor.Info) Compression
	// Level is the compression level from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// ExternalFrom moves tensors of at least this many bytes to another file in the
	// model's directory; 0 moves none. It needs Create: a stream has no directory.
	ExternalFrom int64
	// External is what the location of that file begins with, relative to the
	// model's directory and with slashes; "" means the model's file name. A hash of the data
	// follows, so that a new file never replaces one that a model needs: the data
	// of "m.wia" is in "m.wia.<16 hexadecimal digits>.data"; see the package documentation.
	External string
	// Key encrypts metadata, graph and tensor block with AES-256: 32 bytes; nil encrypts
	// nothing, and one of another size, an empty one too, is ErrKey.
	// The tensor block is then assembled in memory. External data is never
	// encrypted.
	Key []byte
	// Signer signs the checksums: an RSA key ("RSA-SHA256") or an ECDSA key on
	// P-256 ("ECDSA"). Time is recorded as the time of the signature.
	Signer crypto.Signer
	// Graph is written instead of the plan's graph, which is then ignored: a message Graph
	// of wia.proto in wire form. Its initializers must not carry data, but may declare any
	// tensors of the plan.
	Graph []byte
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	return o
}
