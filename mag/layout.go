package mag

import "github.com/weightmap/weightmap/tensor"

const formatName = "mag"

const magic = "MAG!"

// container has what differs between the checksums of the two containers.
type container struct {
	version    string
	checksumAt int64 // offset of the checksum
	sums       int   // number of sumForms that files may have
	uncovered  int   // bytes at the end of the structural part that the checksum does not cover
	covered    string
}

var (
	containerV1       = container{"1", 8, len(sumForms), 0, "header and records"}
	containerSnapshot = container{"0.1.0", 16, 1, len(markerBuffer), "header and descriptors"}
)

// The version fields of the two containers.
const (
	wordV1       = 1
	wordSnapshot = 100 // 0.1.0 as major*10000 + minor*100 + patch
)

// Version 1: sizes in bytes, and limits.
const (
	headerSize   = 24
	metadataHead = 16 // aux, payload, key_length
	tensorHead   = 20 // dtype, rank, aux, numel, offset
	maxRank      = 255
	minMetadata  = metadataHead + 1       // with the shortest key
	minTensor    = tensorHead + 8 + 4 + 1 // with one dim and the shortest key

	maxKey = 1<<16 - 1

	dataAlign = 64
	gapByte   = 0xFF

	metadataInt64   = 1
	metadataFloat64 = 2
	digestPrefix    = "xxh64/"
	firstGap        = 4  // the first unused dtype code
	firstExtended   = 16 // the first dtype code of this library
	endExtended     = 25
)

// The snapshot container: sizes in bytes, and limits.
const (
	snapRest       = 4 + 4 + 3*4                // count of strings, last offset, markers
	snapDescriptor = 24                         // without dims
	snapMinTensor  = 4 + 1 + snapDescriptor + 1 // offset and character of the name, descriptor, data
	snapMaxRank    = 16
	snapDTypes     = 12 // dtype codes

	snapMaxStrings = 65534
	snapMaxBlob    = 128 << 20

	markerPool        = "SRP!"
	markerMetadata    = "MDT!"
	markerDescriptors = "DSC!"
	markerBuffer      = "BUF!"
)

// dtypesV1 lists the dtypes of version 1 by code. The reference has 0 to 3; this
// library adds the codes from 16.
var dtypesV1 = [256]tensor.DType{
	0: tensor.Float32, 1: tensor.Float16, 2: tensor.Bool, 3: tensor.Int32,
	16: tensor.BFloat16, 17: tensor.Uint8, 18: tensor.Int8, 19: tensor.Uint16, 20: tensor.Int16,
	21: tensor.Uint32, 22: tensor.Int64, 23: tensor.Uint64, 24: tensor.Float64,
}

// dtypesSnapshot lists the dtypes of the snapshot container by code.
var dtypesSnapshot = [256]tensor.DType{
	tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Bool,
	tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16,
	tensor.Uint32, tensor.Int32, tensor.Uint64, tensor.Int64,
}
