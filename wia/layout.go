package wia

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/tensor"
)

const formatName = "wia"

// The header.
const (
	headerSize = 256
	magic      = "1AIW" // the number 0x57494131
	magicASCII = "WIA1" // read as well
	major      = 1
	minor      = 0
	alignment  = 64 // of raw_data in the file
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
	names := [...]string{"none", "gzip", "zstd"}
	if int(c) < len(names) {
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
