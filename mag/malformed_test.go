package mag

import (
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
)

// baseV1 returns a valid file with two separate tensors and two metadata entries.
func baseV1() v1File {
	return v1File{
		magic: "MAG!", version: 1,
		metadata: []v1Entry{{1, 7, "a"}, {2, 0, "b"}},
		tensors: []v1Tensor{
			{aux: [4]byte{0, 2}, numel: 6, offset: 192, shape: []uint64{2, 3}, key: "x", data: floats(6)},
			{aux: [4]byte{1, 1}, numel: 2, offset: 256, shape: []uint64{2}, key: "y", data: []byte{1, 2, 3, 4}},
		},
	}
}

// In baseV1, the records are at 24 and 41 (metadata), 58 and 99 (tensors), and end
// at 132.
const (
	metaA, metaB = 24, 41
	recX, recY   = 58, 99
	recEnd       = 132
)

func ptr(n uint32) *uint32 { return &n }

// bad is a change to a valid file, and the error of reading the result.
type bad[F any] struct {
	name   string
	mutate func(f *F)
	err    error
	field  string
	offset int64
}

var malformedV1 = []bad[v1File]{
	{"other magic", func(f *v1File) { f.magic = "GAM!" }, format.ErrMagic, "magic", 0},
	{"version 0", func(f *v1File) { f.version = 0 }, format.ErrVersion, "version", 4},
	{"version 2", func(f *v1File) { f.version = 2 }, format.ErrVersion, "version", 4},
	{"development build", func(f *v1File) { f.version = 100 }, format.ErrVersion, "version", 4},
	{"wrong checksum", func(f *v1File) { f.sum = ptr(0x12345678) }, format.ErrChecksum, "checksum", 8},
	{"checksum 0", func(f *v1File) { f.sum = ptr(0) }, format.ErrChecksum, "checksum", 8},
	{"more tensors than fit", func(f *v1File) { f.numTensors = ptr(1 << 20) }, format.ErrTruncated, "num_tensors", 12},
	{"more tensors than allowed", func(f *v1File) { f.numTensors = ptr(math.MaxUint32) }, format.ErrLimit, "num_tensors", 12},
	{"more metadata than fit", func(f *v1File) { f.numMeta = ptr(math.MaxUint32) }, format.ErrTruncated, "num_meta_kv", 16},
	{"header aux", func(f *v1File) { f.aux = 1 << 31 }, format.ErrCorrupt, "aux", 20},

	{"metadata type 0", func(f *v1File) { f.metadata[1].aux = 0 }, format.ErrUnsupported, "metadata type", metaB},
	{"metadata type 3", func(f *v1File) { f.metadata[1].aux = 3 }, format.ErrUnsupported, "metadata type", metaB},
	{"metadata reserved bits", func(f *v1File) { f.metadata[0].aux = 1 | 1<<8 }, format.ErrCorrupt, "metadata aux", metaA},
	{"metadata key empty", func(f *v1File) { f.metadata[0].key = "" }, format.ErrCorrupt, "metadata key_length", metaA + 12},
	{"metadata key too long", func(f *v1File) { f.metadata[0].key = strings.Repeat("k", maxKey+1) }, format.ErrCorrupt, "metadata key_length", metaA + 12},
	{"metadata key not UTF-8", func(f *v1File) { f.metadata[0].key = "\xFF" }, format.ErrCorrupt, "metadata key", metaA + 16},
	{"metadata key long, not UTF-8", func(f *v1File) { f.metadata[0].key = "0123456\xC3." }, format.ErrCorrupt, "metadata key", metaA + 16},
	{"metadata key with NUL", func(f *v1File) { f.metadata[0].key = "0123456789\x00abcdefghijk" }, format.ErrCorrupt, "metadata key", metaA + 16},
	{"metadata key twice", func(f *v1File) { f.metadata[1].key = "a" }, format.ErrCorrupt, "metadata key", metaB + 16},
	{"digest twice", func(f *v1File) {
		f.metadata = []v1Entry{{1, 7, "xxh64/y"}, {1, 7, "xxh64/y"}}
	}, format.ErrCorrupt, "metadata key", metaA + 23 + 16},
	{"digest and float64 of one key", func(f *v1File) {
		f.metadata = []v1Entry{{1, 7, "xxh64/y"}, {2, 7, "xxh64/y"}}
	}, format.ErrCorrupt, "metadata key", metaA + 23 + 16},
	{"float64 and digest of one key", func(f *v1File) {
		f.metadata = []v1Entry{{2, 7, "xxh64/x"}, {1, 7, "xxh64/x"}}
	}, format.ErrCorrupt, "metadata key", metaA + 23 + 16},
	{"prefixed key twice", func(f *v1File) {
		f.metadata = []v1Entry{{1, 7, "xxh64/z"}, {1, 8, "xxh64/z"}}
	}, format.ErrCorrupt, "metadata key", metaA + 23 + 16},

	{"tensor dtype 4", func(f *v1File) { f.tensors[0].aux[0] = 4 }, format.ErrUnsupported, "tensor dtype", recX},
	{"tensor dtype 25", func(f *v1File) { f.tensors[0].aux[0] = 25 }, format.ErrUnsupported, "tensor dtype", recX},
	{"tensor rank 0", func(f *v1File) { f.tensors[1].aux[1], f.tensors[1].shape, f.tensors[1].numel = 0, nil, 1 }, format.ErrCorrupt, "tensor rank", recY + 1},
	{"tensor reserved byte 2", func(f *v1File) { f.tensors[1].aux[2] = 1 }, format.ErrCorrupt, "tensor aux", recY + 2},
	{"tensor numel too large", func(f *v1File) { f.tensors[0].numel = 7 }, format.ErrCorrupt, "tensor numel", recX + 4},
	{"tensor dim 0", func(f *v1File) { f.tensors[0].shape[1], f.tensors[0].numel = 0, 0 }, format.ErrCorrupt, "tensor shape", recX + 28},
	{"tensor dim 2^63", func(f *v1File) { f.tensors[0].shape = []uint64{1, 1 << 63} }, format.ErrCorrupt, "tensor shape", recX + 28},
	{"tensor dims overflow to 6", func(f *v1File) {
		f.tensors[0].shape = []uint64{1 << 63, 6} // 6 * 2^63 mod 2^64 is 0
	}, format.ErrCorrupt, "tensor shape", recX + 20},
	{"tensor dims wrap around", func(f *v1File) { f.tensors[0].shape, f.tensors[0].numel = []uint64{1<<32 + 1, 1<<32 + 1}, 1<<33+1 }, format.ErrCorrupt, "tensor shape", recX + 28},
	{"tensor bytes reach 2^63", func(f *v1File) {
		f.tensors[0].aux[0], f.tensors[0].shape, f.tensors[0].numel = 24, []uint64{1 << 60, 1}, 1<<60
	}, format.ErrCorrupt, "tensor numel", recX + 4},
	{"tensor larger than the file", func(f *v1File) { f.tensors[0].shape, f.tensors[0].numel = []uint64{1 << 30, 1 << 30}, 1<<60 }, format.ErrTruncated, "tensor offset", recX + 12},
	{"tensor one byte too long", func(f *v1File) { f.tensors[1].offset++; f.tensors[1].data = f.tensors[1].data[:3] }, format.ErrTruncated, "tensor offset", recY + 12},
	{"tensor offset overflows", func(f *v1File) { f.tensors[0].offset = math.MaxUint64 - 3; f.tensors[0].data = nil }, format.ErrTruncated, "tensor offset", recX + 12},
	{"tensor in the header", func(f *v1File) { f.tensors[1].offset = 0 }, format.ErrCorrupt, "tensor offset", recY + 12},
	{"tensor in the records", func(f *v1File) { f.tensors[1].offset = recEnd - 1 }, format.ErrCorrupt, "tensor offset", recY + 12},
	{"tensor key empty", func(f *v1File) { f.tensors[1].key = "" }, format.ErrCorrupt, "tensor key_length", recY + 28},
	{"tensor key too long", func(f *v1File) { f.tensors[1].key = strings.Repeat("k", maxKey+1) }, format.ErrCorrupt, "tensor key_length", recY + 28},
	{"tensor key not UTF-8", func(f *v1File) { f.tensors[1].key = "\xC3" }, format.ErrCorrupt, "tensor key", recY + 32},
	{"tensor key with NUL", func(f *v1File) { f.tensors[1].key = "\x00" }, format.ErrCorrupt, "tensor key", recY + 32},
	{"tensor key twice", func(f *v1File) { f.tensors[1].key = "x" }, format.ErrCorrupt, "tensor key", recY + 32},
}

// baseSnapshot returns a valid snapshot of two tensors.
func baseSnapshot() snapFile {
	return snapFile{
		magic: "MAG!", version: 100, stamp: 1, pool: []string{"x", "spare", "y"}, marks: snapMarks,
		tensors: []snapTensor{
			{rank: 2, dtype: 0, key: 2, numel: 6, offset: 0, shape: []uint64{2, 3}, data: floats(6)},
			{rank: 0, dtype: 11, key: 0, numel: 1, offset: 24, data: repeated(1, 8)},
		},
	}
}

// In baseSnapshot, the pool's offsets are at 40, its strings at 56, the descriptors
// at 71 and 111, "BUF!" at 135 and the data at 139.
const (
	poolOffsets, poolBlob = 40, 56
	descY, descX          = 71, 111
	snapData              = 139
)

var malformedSnapshot = []bad[snapFile]{
	{"version 0", func(f *snapFile) { f.version = 0 }, format.ErrVersion, "version", 4},
	{"wrong checksum", func(f *snapFile) { f.sum = ptr(1) }, format.ErrChecksum, "checksum", 16},
	{"checksum 0", func(f *snapFile) { f.sum = ptr(0) }, format.ErrChecksum, "checksum", 16},
	{"metadata", func(f *snapFile) { f.metaLen = 1 }, format.ErrUnsupported, "metadata_map_len", 24},
	{"no pool", func(f *snapFile) { f.marks[0] = "SRP?" }, format.ErrVersion, "version", 4},
	{"no metadata mark", func(f *snapFile) { f.marks[1] = "MDT?" }, format.ErrCorrupt, "marker MDT!", 63},
	{"no data mark", func(f *snapFile) { f.marks[3] = "BUF?" }, format.ErrCorrupt, "marker BUF!", 135},
	{"more tensors than fit", func(f *snapFile) { f.numTensors = ptr(1000) }, format.ErrTruncated, "tensor_count", 28},
	{"more tensors than allowed", func(f *snapFile) { f.numTensors = ptr(math.MaxUint32) }, format.ErrLimit, "tensor_count", 28},
	{"fewer tensors", func(f *snapFile) { f.numTensors = ptr(1) }, format.ErrCorrupt, "marker BUF!", descX},
	{"too many strings", func(f *snapFile) { f.numStrings = ptr(65535) }, format.ErrCorrupt, "string pool count", 36},
	{"pool too large", func(f *snapFile) { f.offsets = []uint32{0, 1, 6, 128<<20 + 1} }, format.ErrCorrupt, "string pool offsets", poolOffsets + 12},
	{"pool larger than the file", func(f *snapFile) { f.offsets = []uint32{0, 1, 6, 128 << 20} }, format.ErrTruncated, "string pool strings", poolBlob},
	{"pool begins later", func(f *snapFile) { f.offsets = []uint32{1, 2, 6, 7} }, format.ErrCorrupt, "string pool offsets", poolOffsets},
	{"pool descends", func(f *snapFile) { f.offsets = []uint32{0, 6, 1, 7} }, format.ErrCorrupt, "string pool offsets", poolOffsets + 8},
	{"empty string", func(f *snapFile) { f.offsets = []uint32{0, 1, 1, 7} }, format.ErrCorrupt, "string pool strings", poolBlob + 1},
	{"string not UTF-8", func(f *snapFile) { f.pool[1] = "sp\xFFre" }, format.ErrCorrupt, "string pool strings", poolBlob + 1},
	{"string with NUL", func(f *snapFile) { f.pool[1] = "sp\x00re" }, format.ErrCorrupt, "string pool strings", poolBlob + 1},
	{"string twice", func(f *snapFile) { f.pool = []string{"x", "spare", "x"} }, format.ErrCorrupt, "string pool strings", poolBlob + 6},
	{"unused string twice", func(f *snapFile) { f.pool = []string{"x", "x", "spare"} }, format.ErrCorrupt, "string pool strings", poolBlob + 1},
	{"rank 17", func(f *snapFile) {
		f.tensors[0].rank, f.tensors[0].shape = 17, slices.Repeat([]uint64{1}, 17)
	}, format.ErrCorrupt, "tensor rank", descY},
	{"dtype 12", func(f *snapFile) { f.tensors[0].dtype = 12 }, format.ErrUnsupported, "tensor dtype", descY + 1},
	{"key_id behind the pool", func(f *snapFile) { f.tensors[0].key = 3 }, format.ErrCorrupt, "tensor key_id", descY + 4},
	{"key_id twice", func(f *snapFile) { f.tensors[1].key = 2 }, format.ErrCorrupt, "tensor key_id", descX + 4},
	{"numel", func(f *snapFile) { f.tensors[0].numel = 5 }, format.ErrCorrupt, "tensor numel", descY + 8},
	{"dim 0", func(f *snapFile) { f.tensors[0].shape[0], f.tensors[0].numel = 0, 0 }, format.ErrCorrupt, "tensor shape", descY + 24},
	{"bytes overflow", func(f *snapFile) { f.tensors[0].shape, f.tensors[0].numel = []uint64{1, 1 << 62}, 1<<62 }, format.ErrCorrupt, "tensor numel", descY + 8},
	{"aligned offset", func(f *snapFile) { f.tensors[1].offset = 32; f.tail = repeated(0, 8) }, format.ErrCorrupt, "tensor offset", descX + 16},
	{"first offset", func(f *snapFile) { f.tensors[0].offset = 1 }, format.ErrCorrupt, "tensor offset", descY + 16},
	{"shared data", func(f *snapFile) {
		f.tensors[1].offset, f.tensors[1].data = 0, nil
	}, format.ErrCorrupt, "tensor offset", descX + 16},
	{"one byte missing", func(f *snapFile) { f.tensors[1].data = repeated(1, 7) }, format.ErrTruncated, "tensor offset", descX + 16},
	{"one byte more", func(f *snapFile) { f.tail = []byte{0} }, format.ErrCorrupt, "data", snapData + 32},
}

func v1With(mutate func(*v1File)) []byte {
	f := baseV1()
	mutate(&f)
	return f.bytes()
}

func snapWith(mutate func(*snapFile)) []byte {
	f := baseSnapshot()
	mutate(&f)
	return f.bytes()
}
