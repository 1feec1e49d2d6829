package mag

import (
	"encoding/binary"
	"slices"

	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

const formatName = "mag"

const magic = "MAG!"

// container has what differs between the two containers.
type container struct {
	version    string
	checksumAt int64 // offset of the checksum
	sums       int   // number of sumForms that files may have
	uncovered  int   // bytes at the end of the structural part that the checksum does not cover
	covered    string

	dtypes                            *[256]tensor.DType // by code, Invalid for an unknown one
	dtype, rank, numel, offset, shape int                // offsets in a tensor's record
	minRank, maxRank                  int
	record, keyField                  string // of a tensor, in errors
}

var (
	containerV1 = container{
		version: "1", checksumAt: 8, sums: len(sumForms), covered: "header and records",
		dtypes: &dtypesV1, dtype: 0, rank: 1, numel: 4, offset: 12, shape: 20, minRank: 1, maxRank: 255,
		record: "tensor record", keyField: "tensor key",
	}
	containerSnapshot = container{
		version: "0.1.0", checksumAt: 16, sums: 1, uncovered: len(markerBuffer), covered: "header and descriptors",
		dtypes: &dtypesSnapshot, dtype: 1, rank: 0, numel: 8, offset: 16, shape: 24, minRank: 0, maxRank: 16,
		record: "tensor descriptor", keyField: "tensor key_id",
	}
)

// The version fields of the two containers.
const (
	wordV1       = 1
	wordSnapshot = 100 // 0.1.0 as major*10000 + minor*100 + patch
)

// Version 1: sizes in bytes, and limits.
const (
	headerSize   = 24
	metadataHead = 16                     // aux, payload, key_length
	tensorHead   = 20                     // aux, numel, offset
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
	snapHeader     = 32
	snapSmallest   = snapHeader + 4*4 + 4 + 4 // marks, count of strings, last offset
	snapDescriptor = 24                       // without dims
	snapDTypes     = 12                       // dtype codes

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

// appendRecord appends the tensor record up to the shape, with a key_id unless the container is version 1.
func (c *container) appendRecord(w *wire.Buffer, t *tensor.Info, keyID int, offset int64) {
	var all [snapDescriptor]byte
	head := all[:c.shape]
	head[c.dtype], head[c.rank] = byte(slices.Index(c.dtypes[:], t.DType)), byte(len(t.Shape))
	if c == &containerSnapshot {
		binary.LittleEndian.PutUint32(head[4:], uint32(keyID))
	}
	binary.LittleEndian.PutUint64(head[c.numel:], uint64(t.Size/t.DType.Size()))
	binary.LittleEndian.PutUint64(head[c.offset:], uint64(offset))
	w.Raw(head)
	for _, d := range t.Shape {
		w.I64(d)
	}
}

func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
