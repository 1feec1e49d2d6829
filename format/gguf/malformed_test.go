package gguf

import (
	"math"

	"github.com/weightmap/weightmap/format"
)

// put replaces the value of the list, whose type is at 113.
func put(typ uint32, value []byte) func(*fields) {
	return func(f *fields) { f.entries[2] = kv{"list", typ, value} }
}

// nested is an array value of so many levels around one number.
func nested(depth int) []byte {
	v := arr(0, []byte{7})
	for range depth - 1 {
		v = arr(9, v)
	}
	return v
}

// malformedFile is the change to a good file, and the field and offset of the error.
type malformedFile struct {
	name   string
	mutate func(*fields)
	field  string
	offset int64
}

// malformed breaks one thing at a time in the file that small returns. Its parts
// begin at 24 (architecture), 68 (alignment), 101 (list), 148, 189 and 230 (tensors).
var malformed = []struct {
	err   error
	cases []malformedFile
}{
	{format.ErrMagic, []malformedFile{{"magic", func(f *fields) { f.magic = "GGUP" }, "magic", 0}}},
	{format.ErrVersion, []malformedFile{
		{"version 1", func(f *fields) { f.version = 1 }, "version", 4},
		{"version 4", func(f *fields) { f.version = 4 }, "version", 4},
		{"big-endian", func(f *fields) { f.version = 3 << 24 }, "version", 4},
	}},
	{format.ErrTruncated, []malformedFile{
		{"2^60 tensors", func(f *fields) { f.count = ptr(uint64(1 << 60)) }, "tensor_count", 8},
		{"2^64-1 tensors", func(f *fields) { f.count = ptr(uint64(math.MaxUint64)) }, "tensor_count", 8},
		{"2^64-1 entries", func(f *fields) { f.kvCount = ptr(uint64(math.MaxUint64)) }, "metadata_kv_count", 16},
		{"one entry too many", func(f *fields) { f.kvCount = ptr(uint64(4)) }, "tensor name", 171},
		{"string of 2^64-1 bytes", put(8, le64(math.MaxUint64)), "metadata value", 125},
		{"key of 2^63 bytes", func(f *fields) {
			f.entries[2].key = ""
			f.entries = append(f.entries[:2], kv{"", 0, []byte{0}})
			f.entries[1].value = cat(f.entries[1].value, le64(1<<63))
		}, "metadata key", 109},
		{"array of 2^61 uint64", put(9, cat(le32(10), le64(1<<61))), "metadata array length", 129},
		{"array of 2^61 strings", put(9, cat(le32(8), le64(1<<61))), "metadata array length", 129},
		{"string in an array too long", put(9, arr(8, str("a"), le64(1<<40))), "metadata value", 146},
		{"name of 2^60 bytes", func(f *fields) { f.tensors[0].length = ptr(uint64(1 << 60)) }, "tensor name", 156},
		{"offset behind the file", func(f *fields) { f.tensors[0].offset = ptr(uint64(1 << 20)) }, "tensor offset", 181},
		{"offset near 2^64", func(f *fields) { f.tensors[0].offset = ptr(uint64(math.MaxUint64 - 31)) }, "tensor offset", 181},
		{"empty tensor far behind the file", func(f *fields) { f.tensors[2].dims[0], f.tensors[2].offset = 0, ptr(uint64(1<<20)) }, "tensor offset", 255},
		{"unknown type at the end", func(f *fields) { f.tensors[2].typ, f.tensors[2].offset = 99, ptr(uint64(192)) }, "tensor offset", 255},
		{"data too short", func(f *fields) { f.lack = 32 - 5 + 1 }, "tensor offset", 255},
	}},
	{format.ErrCorrupt, []malformedFile{
		{"one entry too few", func(f *fields) { f.kvCount = ptr(uint64(2)) }, "tensor n_dims", 113},
		{"one tensor too many", func(f *fields) { f.count = ptr(uint64(4)) }, "tensor name", 271},
		{"bool 2", put(7, []byte{2}), "metadata value", 117},
		{"bool 255 in an array", put(9, arr(7, []byte{1}, []byte{255})), "metadata value", 130},
		{"alignment 0", align(4, le32(0)), "metadata value", 97},
		{"alignment 3", align(4, le32(3)), "metadata value", 97},
		{"alignment 4", align(4, le32(4)), "metadata value", 97},
		{"alignment 33", align(4, le32(33)), "metadata value", 97},
		{"alignment as uint64", align(10, le64(32)), "metadata type", 93},
		{"alignment as int32", align(5, le32(32)), "metadata type", 93},
		{"alignment as string", align(8, str("32")), "metadata type", 93},
		{"alignment as array", align(9, arr(4, le32(32))), "metadata type", 93},
		{"empty name", func(f *fields) { f.tensors[0].name = "" }, "tensor name", 156},
		{"NUL in a name", func(f *fields) { f.tensors[0].name = "\x00" }, "tensor name", 156},
		{"name not UTF-8", func(f *fields) { f.tensors[0].name = "\xff" }, "tensor name", 156},
		{"name twice", func(f *fields) { f.tensors[2].name = "a" }, "tensor name", 238},
		{"5 dims", func(f *fields) { f.tensors[2].dims = []uint64{5, 1, 1, 1, 1} }, "tensor n_dims", 239},
		{"2^32-1 dims", func(f *fields) { f.tensors[2].rank = ptr(uint32(math.MaxUint32)) }, "tensor n_dims", 239},
		{"dim of 2^63", func(f *fields) { f.tensors[2].dims[0] = 1 << 63 }, "tensor dims", 243},
		{"dim of 2^64-1", func(f *fields) { f.tensors[0].dims[1] = math.MaxUint64 }, "tensor dims", 169},
		{"product of 2^64", func(f *fields) { f.tensors[0].dims = []uint64{1 << 32, 1 << 32} }, "tensor dims", 161},
		{"product of 2^64 beside 0", func(f *fields) { f.tensors[0].dims = []uint64{0, 1 << 32, 1 << 32} }, "tensor dims", 161},
		{"bytes of 2^64", func(f *fields) { f.tensors[0].dims = []uint64{1 << 62, 1} }, "tensor dims", 161},
		{"row of half a block", func(f *fields) { f.tensors[1].dims = []uint64{16, 4} }, "tensor dims", 202},
		{"blocks in a scalar", func(f *fields) { f.tensors[1].dims = nil }, "tensor dims", 202},
		{"blocks of 2^63 bytes", func(f *fields) { f.tensors[1].dims = []uint64{1 << 40, 1 << 23} }, "tensor dims", 202},
		{"elements of an unknown type reach 2^63", func(f *fields) { f.tensors[1].dims, f.tensors[1].typ = []uint64{1 << 40, 1 << 23}, 99 }, "tensor dims", 202},
		{"offset 16", func(f *fields) { f.tensors[0].offset = ptr(uint64(16)) }, "tensor offset", 181},
		{"split.no without parts", split1("split.no", 2, []byte{1, 0}), "split.no", 121},
		{"split.count without split.no", split1("split.count", 2, []byte{2, 0}), "split.no", 124},
		{"split.count as string", split1("split.count", 8, str("2")), "metadata value", 124},
		{"split.count negative", split1("split.count", 5, le32(math.MaxUint32)), "metadata value", 124},
		{"split.count of 2^31", split1("split.count", 4, le32(1<<31)), "metadata value", 124},
		{"split.no of 2 parts, counted from 0", func(f *fields) {
			f.entries = append(f.entries[:2], kv{"split.no", 2, []byte{2, 0}}, kv{"split.count", 2, []byte{2, 0}}, kv{"split.tensors.count", 2, []byte{3, 0}})
		}, "split.no", 121},
		{"split.tensors.count wrong", split1("split.tensors.count", 5, le32(4)), "split.tensors.count", 132},
	}},
	{format.ErrUnsupported, []malformedFile{
		{"type 13", put(13, nil), "metadata type", 113},
		{"array of type 13", put(9, arr(13)), "metadata array type", 117},
		{"element type 256", func(f *fields) { f.tensors[0].typ = 256 }, "tensor type", 177},
	}},
	{format.ErrLimit, []malformedFile{{"arrays 9 deep", put(9, nested(9)), "metadata value", 213}}},
}

func align(typ uint32, value []byte) func(*fields) {
	return func(f *fields) { f.entries[1] = kv{"general.alignment", typ, value} }
}

func split1(key string, typ uint32, value []byte) func(*fields) {
	return func(f *fields) { f.entries[2] = kv{key, typ, value} }
}
