package mle

import (
	"cmp"
	"crypto/ed25519"

	"github.com/weightmap/weightmap/format"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
)

// WriteOptions are the options for writing a file. Nil and the zero value write
// version 2 with plain weights that can be mapped.
type WriteOptions struct {
	format.WriteOptions
	// Version is 1 or 2; 0 means 2. Version 1 has no checksums, and supports none of
	// the options below except IR.
	Version int
	// HeaderSize is 144, as in the specification's struct and required by the
	// reference implementation, or 128, as in the specification's text; 0 means 144.
	// This package reads either.
	HeaderSize int
	// Compression is the compression of the weights. MethodInt8 and MethodFloat16 are
	// lossy and require that all tensors are float32; MethodBrotli requires package
	// mle/brotli. MethodLZ4 and MethodInt8 without Chunked compress all weights in one
	// piece, so these stay in memory until Close.
	Compression Method
	// Level is the compression level from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// Chunked compresses each tensor separately, in pieces of ChunkSize bytes, so
	// that readers decompress only the tensors they use. It requires Compression.
	Chunked   bool
	ChunkSize int64 // 0 means 4 MiB; rounded up to a multiple of 64
	// Quantized stores int8 and uint8 tensors that have quantization parameters with
	// MethodInt8, in a chunk for each scale. It stores float32 tensors exactly, in
	// chunks of numbers that are 0 or equal up to sign. Readers see all of them as
	// float32.
	Quantized bool
	// Key is the AES-256-GCM key, of 32 bytes, that encrypts the weights; nil means no
	// encryption. A key of another size, including an empty one, is ErrKey. With a
	// key, the weights stay in memory until Close, since the cipher needs them in one
	// piece.
	Key []byte
	// Signer signs the file; WriteOptions.Time is the time of signing.
	Signer ed25519.PrivateKey
	// IR is written instead of Schema.Graph, with the same ids, and with placeholders
	// at the same positions. Its constants must be the schema's tensors, in the same
	// order, with the same names, dtypes and shapes. The writer sets the offsets,
	// sizes and dtype codes of constants.
	IR *IR
}

// common returns the options that all formats have.
func (o *WriteOptions) common() *format.WriteOptions { return &o.WriteOptions }

const defaultChunk = 4 << 20

func (o *WriteOptions) version() int { return cmp.Or(o.Version, maxVersion) }

// check fills in defaults and refuses options that contradict each other.
func (o *WriteOptions) check() error {
	if o.Version == 1 && o.HeaderSize != 0 {
		return refuse("header_size", format.ErrUnsupported, "version 1 has no header size")
	}
	o.Version, o.HeaderSize = o.version(), cmp.Or(o.HeaderSize, headerStruct)
	o.Level, o.ChunkSize = cmp.Or(o.Level, codecs.DefaultLevel), cmp.Or(o.ChunkSize, defaultChunk)
	switch {
	case o.Version != 1 && o.Version != 2:
		return refuse("version", format.ErrVersion, "%d, not %d or %d", o.Version, minVersion, maxVersion)
	case o.HeaderSize != headerText && o.HeaderSize != headerStruct:
		return refuse("header_size", format.ErrUnsupported, "%d, neither %d nor %d", o.HeaderSize, headerText, headerStruct)
	case o.Version == 1 && (o.Compression != MethodNone || o.Chunked || o.Quantized || o.Key != nil || o.Signer != nil):
		return refuse("version", format.ErrUnsupported, "version 1 has no compression, encryption or signature")
	case int(o.Compression) >= len(methods):
		return refuse("compression", format.ErrUnsupported, "unknown method %d", o.Compression)
	case o.Compression == MethodBrotli && !brotli.Writes():
		return refuse("compression", format.ErrUnsupported, "%v", brotli.ErrNoWriter)
	case o.Level < 1 || o.Level > 9:
		return refuse("level", format.ErrUnsupported, "%d, not 1 to 9", o.Level)
	case o.Quantized && o.Compression != MethodNone && o.Compression != MethodInt8:
		return refuse("compression", format.ErrOption, "quantized tensors are stored as int8, not compressed by %v", o.Compression)
	case o.Chunked && o.Compression == MethodNone:
		return refuse("chunked", format.ErrUnsupported, "weights are cut into chunks only when they are compressed")
	case o.ChunkSize < 0 || o.ChunkSize > 1<<30:
		return refuse("chunk size", format.ErrLimit, "%d bytes, not 1 to %d", o.ChunkSize, 1<<30)
	}
	o.ChunkSize = (o.ChunkSize + alignment - 1) &^ (alignment - 1)
	if o.Quantized {
		o.Compression, o.Chunked = MethodInt8, true
	}
	if o.Signer != nil {
		return checkSigner(o.Signer)
	}
	return nil
}

// checkSigner refuses a key of the wrong length. An empty key is an error too, not a
// request for an unsigned file.
func checkSigner(key ed25519.PrivateKey) error {
	if len(key) != ed25519.PrivateKeySize {
		return refuse("signer", format.ErrKey, "%d bytes, a private key has %d", len(key), ed25519.PrivateKeySize)
	}
	return nil
}
