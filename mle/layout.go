package mle

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/internal/codec/brotli"
	"github.com/weightmap/weightmap/internal/codec/lz4"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/tensor"
)

const formatName = "mle"

// magic is the first word of every file: "MLE" and a zero byte.
const magic = 0x00454C4D

// Sizes of the fixed parts, in bytes.
const (
	headerV1     = 64  // fields of a version 1 header
	writtenV1    = 72  // with the reserved bytes that exporters write
	headerText   = 128 // according to the specification's text
	headerStruct = 144 // according to its struct and the reference implementation

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

// Byte offsets in the header. The others follow from Header.fields.
const (
	atVersion     = 4
	atFields      = 8
	atMetadataSum = 96 // metadata_checksum of version 2
	atGraphSum    = 100
	atWeightsSum  = 104
	atHeaderSum   = 108
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

// namedSection is a section with the prefix of its fields' names.
type namedSection struct {
	name string
	*Section
}

// sections lists the sections in the order of the header.
func (h *Header) sections() []namedSection {
	return []namedSection{
		{"metadata", &h.Metadata}, {"graph", &h.Graph}, {"weights", &h.Weights}, {"signature", &h.Signature}, {"compression", &h.Compression},
	}
}

// headerField is a field of the header: a *uint32 or an *int64.
type headerField struct {
	name  string
	value any
}

// fields lists the fields after the version, in the order of the header.
func (h *Header) fields() []headerField {
	all := []headerField{
		{"feature_flags", (*uint32)(&h.Features)}, {"header_size", &h.HeaderSize},
		{"metadata_offset", &h.Metadata.Offset}, {"metadata_size", &h.Metadata.Size},
		{"graph_offset", &h.Graph.Offset}, {"graph_size", &h.Graph.Size},
		{"weights_offset", &h.Weights.Offset}, {"weights_size", &h.Weights.Size},
		{"signature_offset", &h.Signature.Offset}, {"signature_size", &h.Signature.Size},
		{"compression_offset", &h.Compression.Offset}, {"compression_size", &h.Compression.Size},
		{"metadata_checksum", &h.MetadataChecksum}, {"graph_checksum", &h.GraphChecksum},
		{"weights_checksum", &h.WeightsChecksum}, {"header_checksum", &h.HeaderChecksum},
		{"min_reader_version", &h.MinReaderVersion}, {"writer_version", &h.WriterVersion},
	}
	if h.Version == 1 {
		return all[2:8] // metadata, graph and weights
	}
	return all
}

// fail returns an error for a field of the header.
func (h *Header) fail(field string, sentinel error, text string, args ...any) error {
	at := int64(atFields)
	for _, f := range h.fields() {
		if f.name == field {
			break
		}
		at += int64(binary.Size(f.value))
	}
	return fail(field, at, sentinel, text, args...)
}

// put writes magic, version, fields and checksum to b, and leaves the reserved bytes.
func (h *Header) put(b []byte) {
	at := copy(b, binary.LittleEndian.AppendUint32(nil, magic))
	for _, f := range append([]headerField{{"version", &h.Version}}, h.fields()...) {
		n, _ := binary.Encode(b[at:], binary.LittleEndian, f.value) // there is room
		at += n
	}
	if h.Version != 1 {
		binary.LittleEndian.PutUint32(b[atHeaderSum:], sumOfHeader(b))
	}
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
	"COMPRESSION", "ENCRYPTION", "SIGNING", "STREAMING", "QUANTIZATION", "EXTENDED_METADATA", "CHUNKED_WEIGHTS", "MEMORY_MAPPING",
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
	if rest := f &^ knownFeatures; rest != 0 {
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
	codec      compressor
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
	if i := slices.Index(dtypes[:], d); i >= 0 && d.Valid() {
		return uint8(i), true
	}
	return unknownDType, false
}
