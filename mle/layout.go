package mle

import (
	"slices"
	"strconv"
	"strings"

	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
	"github.com/weightmap/weightmap/internal/codec/lz4"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/tensor"
)

const formatName = "mle"

// magic begins every file.
const magic = "MLE\x00"

// Sizes of the fixed parts, in bytes.
const (
	headerV1     = 64  // fields of a version 1 header
	writtenV1    = 72  // with the reserved bytes that exporters write
	headerText   = 128 // according to the specification's text
	headerStruct = 144 // according to its struct and the reference implementation
	headerPlaces = 16  // offset of the places of the sections in version 2

	graphHead       = 144 // counts and ids before the descriptors
	descriptorSize  = 56
	nodeSize        = 208
	compressionSize = 20
	chunkRow        = 32
	signatureSize   = 140

	maxIDs  = 16 // inputs, outputs, params of a node or graph
	maxRank = 8

	aadSize = 16 // header bytes that encryption authenticates

	exportShift = 16 // distance of one exporter's sections from their offsets
	alignment   = 64 // of tensors in the weights, as written
)

// Version numbers.
const (
	minVersion = 1
	maxVersion = 2
)

// Section is a range of the file, in bytes.
type Section struct {
	Offset, Size int64 // in bytes
}

// End returns the offset behind the section.
func (s Section) End() int64 { return s.Offset + s.Size }

// Header is the file header. For version 1, missing fields are zero, and the offsets
// of sections include Shift.
type Header struct {
	Version    uint32   // of the format
	Features   Features // what the file has
	HeaderSize uint32   // 128 or 144; for version 1 the 64 bytes of its fields

	Metadata    Section // JSON
	Graph       Section // the IR
	Weights     Section // as stored: compressed, encrypted
	Signature   Section // Size 0 for an unsigned file
	Compression Section // what CompressionInfo has

	// CRC-32 (IEEE) of the stored sections and of the header; 0 means not recorded.
	MetadataChecksum, GraphChecksum, WeightsChecksum, HeaderChecksum uint32

	MinReaderVersion, WriterVersion uint32 // that a reader must know, and that the writer knew

	// Shift is the number of bytes by which the sections of a version 1 file follow
	// the offsets in its header: 0, or 16 for the files of one exporter.
	Shift int64
	// LegacySignature is signature_offset of version 1, which is not used.
	LegacySignature uint64
}

// plainSize returns the size of the weights section once decrypted.
func (h *Header) plainSize() int64 {
	if h.Features.Has(Encryption) {
		return h.Weights.Size - seal.Overhead
	}
	return h.Weights.Size
}

// Features is the feature_flags field of a version 2 header.
type Features uint32

// The defined flags.
const (
	Compression      Features = 1 << iota // weights are compressed
	Encryption                            // weights are encrypted
	Signing                               // the file is signed
	Streaming                             // hint: supports streaming decompression
	Quantized                             // hint: quantized weights
	ExtendedMetadata                      // hint: extended metadata format
	ChunkedWeights                        // compressed weights are split into chunks
	MemoryMapping                         // hint: every tensor is uncompressed and at a multiple of 64

	knownFeatures = MemoryMapping<<1 - 1
)

var featureNames = [...]string{
	"COMPRESSION", "ENCRYPTION", "SIGNING", "STREAMING", "QUANTIZATION", "EXTENDED_METADATA",
	"CHUNKED_WEIGHTS", "MEMORY_MAPPING",
}

// Has reports whether all flags of g are set.
func (f Features) Has(g Features) bool { return f&g == g }

// String returns the flags by their names in the specification, such as "COMPRESSION |
// SIGNING", with unknown flags as one hexadecimal number. It returns "NONE" if no flag
// is set.
func (f Features) String() string {
	var names []string
	for i, name := range featureNames {
		if f.Has(1 << i) {
			names = append(names, name)
		}
	}
	rest := f &^ knownFeatures
	if rest != 0 {
		names = append(names, "0x"+strconv.FormatUint(uint64(rest), 16))
	}
	if len(names) == 0 {
		return "NONE"
	}
	return strings.Join(names, " | ")
}

// Method is a compression method of the weights. Its values are those of the type field
// of the compression section.
type Method uint8

// The defined methods.
const (
	MethodNone    Method = iota // not compressed
	MethodLZ4                   // one raw block
	MethodZstd                  // one frame
	MethodBrotli                // one raw stream
	MethodInt8                  // float32 as 8-bit integers with one scale and zero point
	MethodFloat16               // float32 as IEEE halves
)

// method is what differs between methods.
type method struct {
	name, tool string // in tensor.Info.Compression, and as the specification's tools print it
	bits       uint8  // of a float32, if that is stored as an approximation
	codec      codecs.Compressor
}

var methods = [...]method{
	MethodNone:    {tool: "NONE"},
	MethodLZ4:     {"lz4", "LZ4", 0, lz4.Codec},
	MethodZstd:    {"zstd", "ZSTD", 0, zstd.Codec},
	MethodBrotli:  {"brotli", "BROTLI", 0, brotli.Codec},
	MethodInt8:    {"int8", "INT8", 8, approximation(MethodInt8)},
	MethodFloat16: {"float16", "FP16", 16, approximation(MethodFloat16)},
}

// Name returns the name of the method in tensor.Info.Compression, such as "zstd". It
// returns "" for MethodNone.
func (m Method) Name() string { return m.info().name }

// String returns the name of the method that the specification's tools print, such as
// "ZSTD".
func (m Method) String() string { return m.info().tool }

func (m Method) info() method {
	if int(m) < len(methods) {
		return methods[m]
	}
	code := strconv.Itoa(int(m))
	return method{name: code, tool: code}
}

// lossy reports whether the method stores approximations of float32 values.
func (m Method) lossy() bool { return m.info().bits > 0 }

// dtypes lists the dtypes by code, Invalid for an unknown code.
var dtypes = [256]tensor.DType{tensor.Float32, tensor.Float16, tensor.Int8, tensor.Int32}

// unknownDType is the code that the writer uses for a placeholder whose dtype is
// unknown or has no code.
const unknownDType = 0xFF

// dtypeCode returns the code of a dtype, unknownDType and false if it has none.
func dtypeCode(d tensor.DType) (code uint8, ok bool) {
	i := slices.Index(dtypes[:], d)
	if i >= 0 && d.Valid() {
		return uint8(i), true
	}
	return unknownDType, false
}
