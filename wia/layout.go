package wia

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

const formatName = "wia"

// The header.
const (
	headerSize = 256
	magic      = 0x57494131 // "1AIW" on disk
	magicASCII = 0x31414957 // "WIA1" on disk, read as well
	major      = 1
	minor      = 0
	alignment  = 64 // of raw_data in the file

	signatureField  = 64 // offset of signature_size
	encryptionField = 73 // offset of encryption
)

// Compression is the compression of a block or a tensor. Its values are those of
// the header and of CompressionType in wia.proto.
type Compression uint8

// The compressions of section 6.1.
const (
	None Compression = 0
	Gzip Compression = 1
	Zstd Compression = 2
)

// String returns "none", "gzip" or "zstd".
func (c Compression) String() string {
	if names := [...]string{"none", "gzip", "zstd"}; int(c) < len(names) {
		return names[c]
	}
	return "compression(" + strconv.Itoa(int(c)) + ")"
}

func (c Compression) check() error {
	if c > Zstd {
		return fmt.Errorf("%w: %v", format.ErrUnsupported, c)
	}
	return nil
}

var codecs = [...]*codec.Stream{Gzip: gzip.Codec, Zstd: zstd.Codec}

// dtypes maps the codes of section 3.1 to dtypes; 0 is DATA_TYPE_UNSPECIFIED.
var dtypes = [...]tensor.DType{
	1: tensor.Float32, 2: tensor.Float16, 3: tensor.BFloat16, 4: tensor.Int64, 5: tensor.Int32,
	6: tensor.Int16, 7: tensor.Int8, 8: tensor.Uint8, 9: tensor.Bool, 10: tensor.Complex64,
}

// dtypeOf returns the dtype of a code, Invalid for an unknown code.
func dtypeOf(code int32) tensor.DType {
	if code <= 0 || int(code) >= len(dtypes) {
		return tensor.Invalid
	}
	return dtypes[code]
}

// codeOf returns the code of a dtype, 0 if the format does not have it.
func codeOf(d tensor.DType) int32 {
	return int32(slices.Index(dtypes[1:], d)) + 1
}

// block identifies the header or one of the four blocks, in the order of the file.
type block uint8

const (
	headerBlock block = iota
	metadataBlock
	graphBlock
	tensorBlock
	signatureBlock
	numBlocks
)

// numSums is the number of checksums: one of every block but that with the checksums.
const numSums = signatureBlock

// blockNames are also the values of block_type.
var blockNames = [numBlocks]string{"header", "metadata", "graph", "tensor", "signature"}

func (b block) String() string { return blockNames[b] }

// spanNames are the names of the offset and size fields of the blocks.
var spanNames = [numBlocks][2]string{
	{}, {"metadata_offset", "metadata_size"}, {"graph_offset", "graph_size"}, {"tensor_offset", "tensor_size"}, {"signature_offset", "signature_size"},
}

// spanAt returns the offset of the offset and size fields of a block.
func (b block) spanAt() int64 { return 8 + 16*int64(b-metadataBlock) }

// span is a range of a file.
type span struct{ off, size int64 }

func (s span) end() int64 { return s.off + s.size }

// header is the decoded header of a file.
type header struct {
	magic       uint32
	minor       uint16
	blocks      [numBlocks]span
	compression Compression
	encryption  uint8 // 1 for AES-256-GCM
}

// bytes returns the encoded header; reserved bytes are zero.
func (h *header) bytes() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(make([]byte, 0, headerSize), magic)
	b = le.AppendUint16(le.AppendUint16(b, major), minor)
	for _, s := range h.blocks[metadataBlock:] {
		b = le.AppendUint64(le.AppendUint64(b, uint64(s.off)), uint64(s.size))
	}
	return append(b, byte(h.compression), h.encryption)[:headerSize]
}

func isMagic(m uint32) bool { return m == magic || m == magicASCII }

// parse reads the header of section 2.2. It checks the magic number, the version
// and the codes, and that the blocks are within the file and do not overlap.
func (h *header) parse(src driver.Source) error {
	b, err := driver.Prefix(src, headerSize)
	if err != nil {
		return err
	}
	c := wire.NewCursor(formatName, b, 0)
	if h.magic = c.U32("magic"); !isMagic(h.magic) {
		c.Failf("magic", 0, format.ErrMagic, "0x%08x", h.magic)
	}
	if v := c.U16("version_major"); v != major {
		c.Failf("version_major", 4, format.ErrVersion, "%d", v)
	}
	h.minor = c.U16("version_minor")
	h.blocks[headerBlock].size = headerSize
	for b := metadataBlock; b < numBlocks; b++ {
		names := &spanNames[b]
		off, size := c.U64(names[0]), c.U64(names[1])
		switch left := uint64(src.Size()); {
		case off > left:
			c.Failf(names[0], b.spanAt(), tensor.ErrTruncated, "%d, the file has %d bytes", off, left)
		case size > left-off:
			c.Failf(names[1], b.spanAt()+8, tensor.ErrTruncated, "%d bytes from offset %d, the file has %d", size, off, left)
		}
		h.blocks[b] = span{int64(off), int64(size)}
	}
	h.compression = Compression(c.U8("compression"))
	h.encryption = c.U8("encryption")
	c.Bytes("reserved", headerSize-74)
	if h.compression > Zstd {
		c.Failf("compression", 72, format.ErrUnsupported, "code %d", h.compression)
	}
	if h.encryption > 1 {
		c.Failf("encryption", encryptionField, format.ErrUnsupported, "code %d", h.encryption)
	}
	h.checkLayout(&c, src.Size())
	return c.Err()
}

// checkLayout refuses overlapping blocks and bytes after the last block.
func (h *header) checkLayout(c *wire.Cursor, fileSize int64) {
	last := int64(0)
	for i, b := range h.blocks {
		last = max(last, b.end())
		for j, o := range h.blocks[:i] {
			if b.size > 0 && o.size > 0 && b.off < o.end() && o.off < b.end() {
				at, text := block(i).spanAt(), "%d..%d overlaps the %v at %d..%d"
				c.Failf(spanNames[i][0], at, tensor.ErrCorrupt, text, b.off, b.end(), block(j), o.off, o.end())
			}
		}
	}
	if fileSize > last {
		c.Failf("end of file", last, tensor.ErrCorrupt, "%d bytes follow the last block", fileSize-last)
	}
}

// messages corresponds to wia.proto, and a test compares them. The reader checks messages and names
// fields in errors by it.
var messages = protobuf.Parse(`
	KeyValue: 1 key name, 2 value string;
	PerChannelQuantization: 1 scales float*, 2 zero_points int*, 3 channel_dim int;
	QuantizationParams: 1 type enum, 2 scale float, 3 zero_point int, 4 quantized_type enum, 5 per_channel PerChannelQuantization;
	TensorMetadata: 1 doc_string string native, 2 properties KeyValue* properties native, 3 quantization QuantizationParams;
	ExternalData: 1 location string, 2 offset int, 3 length int, 4 checksum string;
	Tensor: 1 name name, 2 dims int* dims, 3 dtype enum, 4 raw_data bytes oneof, 5 external_data ExternalData oneof,
		6 metadata TensorMetadata;
	CompressedTensor: 1 tensor Tensor, 2 compression enum, 3 compressed_data bytes, 4 uncompressed_size int;
	TensorData: 1 tensors Tensor*, 2 compressed_tensors CompressedTensor*, 15 padding bytes;

	TensorShapeProto.Dimension: 1 dim_value int oneof, 2 dim_param string oneof, 3 denotation string native;
	TensorShapeProto: 1 dim TensorShapeProto.Dimension* value_dims;
	TypeProto.Tensor: 1 elem_type enum, 2 shape TensorShapeProto;
	TypeProto: 1 tensor_type TypeProto.Tensor, 6 denotation string native;
	ValueInfo: 1 name name ref, 2 type TypeProto, 3 doc_string string native;
	Attribute: 1 name name, 2 f float, 3 i int, 4 s bytes, 5 t Tensor, 6 g Graph, 7 floats float* numbers, 8 ints int* numbers,
		9 strings bytes* strings, 10 tensors Tensor* attributes, 11 graphs Graph* attributes, 13 doc_string string native,
		20 type enum, 21 ref_attr_name string native;
	Node: 1 name name, 2 op_type string, 3 inputs name* edges ref, 4 outputs name* edges ref,
		5 attributes Attribute* attributes, 6 doc_string string native, 7 domain ours;
	GraphMetadata: 1 properties KeyValue* properties native;
	Graph: 1 name name, 2 nodes Node* nodes, 3 inputs ValueInfo* values, 4 outputs ValueInfo* values,
		5 initializers Tensor* tensors, 6 metadata GraphMetadata;

	BlockChecksum: 1 block_type string, 2 sha256 bytes;
	Signature: 1 algorithm string, 2 public_key bytes, 3 signature bytes, 4 timestamp int;
	SignatureBlock: 1 checksums BlockChecksum*, 2 signature Signature, 15 padding bytes;

	Native: 1 graph Graph, 2 tensors CompressedTensor*, 3 tensor_block Unknown, 4 signature_block Unknown, 5 metadata bytes;
`)

var (
	tensorMsg, tensorDataMsg, compressedMsg = messages["Tensor"], messages["TensorData"], messages["CompressedTensor"]
	graphMsg, signatureBlockMsg             = messages["Graph"], messages["SignatureBlock"]
	blockMessages                           = [...]*protobuf.Message{graphBlock: graphMsg, tensorBlock: tensorDataMsg}

	// nativeMsg is the message in Native.Raw: the graph and the records of tensors, without data, the
	// unknown fields of the tensor and signature blocks, and the text of the metadata.
	nativeMsg = messages["Native"]
)
