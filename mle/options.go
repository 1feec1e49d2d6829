package mle

import (
	"cmp"
	"crypto/ed25519"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
)

// Format is MLE, with the options for writing that only it has. The zero value writes
// version 2 with plain weights that can be mapped. To a stream ([format.NewWriter]),
// a version 2 file is buffered first (see Spool), since its header has checksums of the sections.
//
// Of format.WriteOptions, Compression is "lz4", "zstd" or "brotli", which requires package
// mle/brotli. LZ4 without Chunked compresses all weights in one piece, so these stay in memory
// until Close. With a Key they do too, since the cipher needs them in one piece. Signer is an
// ed25519.PrivateKey, and Time the time of signing.
type Format struct {
	// Version is 1 or 2; 0 means 2. Version 1 has no checksums, compression, encryption or
	// signature, and of the options below only IR.
	Version int
	// HeaderSize is 144, as in the specification's struct and required by the
	// reference implementation, or 128, as in the specification's text; 0 means 144.
	// This package reads either.
	HeaderSize int
	// Lossy is MethodInt8 or MethodFloat16, which store all tensors with less precision, or
	// MethodNone. It requires that all tensors are float32, and excludes a Compression.
	// MethodInt8 without Chunked keeps all weights in memory until Close.
	Lossy Method
	// Chunked compresses each tensor separately, in pieces of ChunkSize bytes, so
	// that readers decompress only the tensors they use. It requires a Compression or Lossy.
	Chunked   bool
	ChunkSize int64 // 0 means 4 MiB; rounded up to a multiple of 64
	// Quantized stores int8 and uint8 tensors that have quantization parameters with
	// MethodInt8, in a chunk for each scale. It stores float32 tensors exactly, in
	// chunks of numbers that are 0 or equal up to sign. Readers see all of them as
	// float32.
	Quantized bool
	// IR is written instead of Schema.Graph, with the same ids, and with placeholders
	// at the same positions. Its constants must be the schema's tensors, in the same
	// order, with the same names, dtypes and shapes. The writer sets the offsets,
	// sizes and dtype codes of constants.
	IR *IR
}

// Driver implements format.Format.
func (f Format) Driver() driver.Driver { return fileFormat(f) }

const defaultChunk = 4 << 20

// settings are the options of one file, with defaults filled in.
type settings struct {
	Format
	common *driver.LayoutOptions // what other formats have too
	method Method
	level  int                // also of a lossy method
	signer ed25519.PrivateKey // nil for no signature
}

// settings returns the options of a file. It refuses those that contradict each other.
func (d fileFormat) settings(o *driver.LayoutOptions) (*settings, error) {
	c := &settings{Format: Format(d), common: o, level: cmp.Or(o.Level, codecs.DefaultLevel)}
	if c.Version == 1 && c.HeaderSize != 0 {
		return nil, driver.OptionError(formatName, "HeaderSize", "version 1 has no header size")
	}
	c.Version = cmp.Or(c.Version, maxVersion)
	c.HeaderSize = cmp.Or(c.HeaderSize, headerStruct)
	c.ChunkSize = cmp.Or(c.ChunkSize, defaultChunk)
	err := c.choose()
	if err != nil {
		return nil, err
	}
	switch {
	case c.Version != 1 && c.Version != 2:
		return nil, driver.OptionError(formatName, "Version", "%d, not %d or %d", c.Version, minVersion,
			maxVersion)
	case c.HeaderSize != headerText && c.HeaderSize != headerStruct:
		return nil, driver.OptionError(formatName, "HeaderSize", "%d, neither %d nor %d",
			c.HeaderSize, headerText, headerStruct)
	case c.Version == 1 && c.needsVersion2():
		return nil, driver.OptionError(formatName, "Version",
			"version 1 has no compression, encryption or signature")
	case c.Chunked && c.method == MethodNone:
		return nil, driver.OptionError(formatName, "Chunked",
			"weights have chunks only if they are compressed")
	case c.ChunkSize < 0 || c.ChunkSize > 1<<30:
		return nil, driver.OptionError(formatName, "ChunkSize", "%d bytes, not 1 to %d", c.ChunkSize,
			1<<30)
	}
	c.ChunkSize = (c.ChunkSize + alignment - 1) &^ (alignment - 1)
	return c, c.takeSigner()
}

// needsVersion2 reports whether there are options that version 1 lacks.
func (c *settings) needsVersion2() bool {
	return c.method != MethodNone || c.Chunked || c.common.Key != nil || c.common.Signer != nil
}

// lossless lists the methods that do not change a value.
var lossless = []Method{MethodLZ4, MethodZstd, MethodBrotli}

// choose sets the method of the weights.
func (c *settings) choose() error {
	switch {
	case c.Lossy != MethodNone && !c.Lossy.lossy():
		return driver.OptionError(formatName, "Lossy", "%v; MLE has %v and %v", c.Lossy, MethodInt8,
			MethodFloat16)
	case c.Lossy != MethodNone && c.common.Compression != "":
		return driver.OptionError(formatName, "Lossy",
			"%v, and the compression %q: weights have one method",
			c.Lossy, c.common.Compression)
	case c.Quantized && (c.common.Compression != "" || c.Lossy == MethodFloat16):
		return driver.OptionError(formatName, "Quantized",
			"quantized tensors are stored as int8, and weights have one method")
	case c.Quantized:
		c.method = MethodInt8
		c.Chunked = true
		return nil
	case c.common.Compression == "":
		c.method = c.Lossy
		return nil
	}
	var names []string
	for _, m := range lossless {
		if m.Name() == c.common.Compression {
			c.method = m
		}
		names = append(names, m.Name())
	}
	switch {
	case c.method == MethodNone:
		return driver.OptionError(formatName, "Compression", "%q, MLE has %s",
			c.common.Compression, strings.Join(names, ", "))
	case c.method == MethodBrotli && !brotli.Writes():
		return refuse("Compression", format.ErrUnsupported, "%v", brotli.ErrNoWriter)
	}
	return nil
}

// takeSigner sets the key that signs. An empty key is an error, not a request for an unsigned file.
func (c *settings) takeSigner() error {
	if c.common.Signer == nil {
		return nil
	}
	key, ok := c.common.Signer.(ed25519.PrivateKey)
	if !ok {
		return refuse("Signer", format.ErrKey, "%T, MLE takes Ed25519 keys", c.common.Signer)
	}
	if len(key) != ed25519.PrivateKeySize {
		return refuse("Signer", format.ErrKey, "%d bytes, a private key has %d", len(key),
			ed25519.PrivateKeySize)
	}
	c.signer = key
	return nil
}
