package wia

import (
	"crypto"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// WriteOptions are the options for writing a file. Nil and the zero value work:
// blocks and tensors are neither compressed nor encrypted, and have checksums.
type WriteOptions struct {
	format.WriteOptions
	// Compression is the compression of the metadata and graph blocks.
	Compression Compression
	// CompressTensor returns the compression of a tensor; nil compresses none. Its
	// argument is a tensor of the schema, so Compression is "", Stored is Size, and
	// Offset is -1. It may be called more than once for a tensor, and its result
	// for external data is not used. Compressed tensors cannot be views into the
	// mapping, and a file with any cannot be streamed (see Spool), since sizes
	// precede the data.
	CompressTensor func(tensor.Info) Compression
	// Level is the compression level from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// ExternalFrom moves tensors of at least this many bytes to an external file in
	// the model's directory; 0 moves none. It requires Create, since a stream has
	// no directory.
	ExternalFrom int64
	// External is the beginning of the location of the external file, relative to
	// the model's directory, with slashes; "" means the model's file name. A hash of
	// the data follows, so that a new file never replaces one that a model needs:
	// the data of "m.wia" is in "m.wia.<16 hexadecimal digits>.data". See the
	// package documentation.
	External string
	// Key is the AES-256 key, of 32 bytes, that encrypts the metadata, graph and
	// tensor blocks; nil means no encryption. A key of another size, including an
	// empty one, is ErrKey. With a key, the tensor block is assembled in memory.
	// External data is never encrypted.
	Key []byte
	// Signer signs the checksums. It is an RSA key ("RSA-SHA256") or an ECDSA key
	// on P-256 ("ECDSA"). Time is the time of the signature.
	Signer crypto.Signer
}

// common returns the options that all formats have.
func (o *WriteOptions) common() *format.WriteOptions { return &o.WriteOptions }
