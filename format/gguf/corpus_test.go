package gguf

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".gguf"}
	for _, m := range malformed {
		for _, c := range m.cases {
			f := small()
			c.mutate(&f)
			s.Cases = append(s.Cases, corpus.Refused(c.name, f.bytes(), m.err, c.field, c.offset))
		}
	}
	for _, c := range badSplits() {
		bad := split1of3("split: "+c.name, c.mutate)
		bad.Err, bad.Field, bad.Offset = c.err, c.field, c.offset
		if c.part > 1 {
			bad.In = partName(c.part, 3)
		}
		s.Cases = append(s.Cases, bad)
	}
	s.Cases = append(s.Cases, tolerated()...)
	s.Cases = append(s.Cases, goodTypes()...)
	s.Cases = append(s.Cases, goodShapes()...)
	s.Cases = append(s.Cases, goodSplits()...)
	s.Run(t)
}

// split1of3 is a model of three files, changed.
func split1of3(name string, mutate func([]fields)) corpus.Case {
	list := parts()
	mutate(list)
	c := corpus.Case{Name: name, Open: partName(1, 3), ByPath: true, Files: map[string][]byte{}}
	for i, f := range list {
		if f.magic != "" {
			c.Files[partName(i+1, 3)] = f.bytes()
		}
	}
	return c
}

// The tensors of small.
func a() corpus.Tensor { return corpus.Of("a", tensor.Float32, floats(12), 3, 4) }
func b() corpus.Tensor {
	return corpus.Tensor{Name: "b", Type: "Q8_0", Shape: []int64{2, 32}, Data: bytes.Repeat([]byte{1}, 68)}
}
func c() corpus.Tensor { return corpus.Of("c", tensor.Int8, []byte{1, 2, 3, 4, 5}, 5) }

func good(name string, mutate func(*fields), tensors ...corpus.Tensor) corpus.Case {
	f := small()
	mutate(&f)
	if tensors == nil {
		tensors = []corpus.Tensor{a(), b(), c()}
	}
	version := "3"
	if f.version == 2 {
		version = "2"
	}
	return corpus.Case{Name: name, Bytes: f.bytes(), Version: version, Tensors: tensors}
}

// tolerated are odd files, and what is noted of them.
func tolerated() []corpus.Case {
	noted := func(c corpus.Case, note string) corpus.Case { c.Notes = []string{note}; return c }
	long, overlap, same := a(), b(), c()
	long.Name = strings.Repeat("n", 64)
	overlap.Data = append(floats(12)[32:], make([]byte, 16)...)
	second := append(overlap.Data, bytes.Repeat([]byte{1}, 36)...)
	overlap.Data = second
	same.Data = floats(12)[:5]
	unaligned := good("no alignment given", func(f *fields) { f.entries = f.entries[:1] })
	return []corpus.Case{
		good("plain", func(*fields) {}), good("version 2", func(f *fields) { f.version = 2 }), unaligned,
		noted(good("repeated key", func(f *fields) { f.entries[2].key = "general.alignment" }),
			`1 metadata entry has a key that occurs before, such as "general.alignment": the first counts`),
		noted(good("overlap", func(f *fields) { f.tensors[1].offset = ptr(uint64(32)) }, a(), overlap, c()), `1 tensor begins inside another one, such as "b" in "a"`),
		noted(good("same place", func(f *fields) { f.tensors[2].offset, f.lack = ptr(uint64(0)), 32 }, a(), b(), same), `1 tensor begins inside another one, such as "c" in "a"`),
		noted(good("long name", func(f *fields) { f.tensors[0].name = long.Name }, long, b(), c()), "1 tensor has a name of 64 bytes or more, which some readers refuse"),
		noted(good("bytes behind", func(f *fields) { f.extra = 40 }), "67 bytes follow the last tensor"),
		good("last tensor unpadded", func(f *fields) { f.unpadded = true }),
		good("arrays 8 deep", put(9, nested(8))), good("empty array", put(9, arr(8))), good("empty key", func(f *fields) { f.entries[2].key = "" }),
		good("string with NUL and bytes that are not UTF-8", put(8, str("a\x00\xff"))),
		good("alignment 8", func(f *fields) { f.align = 8; align(4, le32(8))(f) }),
		good("alignment 4096", func(f *fields) { f.align = 256; align(4, le32(256))(f) }),
		good("every type of value", func(f *fields) {
			f.entries = f.entries[:2]
			for _, v := range values {
				f.entries = append(f.entries, kv{v.name, v.typ, v.value})
			}
		}),
		{Name: "header alone", Bytes: fields{magic: "GGUF", version: 3, entries: []kv{{"k", 0, []byte{1}}}}.header(), Version: "3"},
		{Name: "nothing", Bytes: fields{magic: "GGUF", version: 3}.header(), Version: "3"},
	}
}

// goodTypes has a tensor of each element type.
func goodTypes() (cases []corpus.Case) {
	for _, e := range []struct {
		code         uint32
		name         string
		elems, bytes int64
	}{
		{0, "float32", 3, 12}, {1, "float16", 3, 6}, {24, "int8", 3, 3}, {25, "int16", 3, 6}, {26, "int32", 3, 12}, {27, "int64", 3, 24}, {28, "float64", 3, 24}, {30, "bfloat16", 3, 6},
		{2, "Q4_0", 32, 18}, {3, "Q4_1", 32, 20}, {6, "Q5_0", 32, 22}, {7, "Q5_1", 32, 24}, {8, "Q8_0", 32, 34}, {9, "Q8_1", 32, 36},
		{10, "Q2_K", 256, 84}, {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {14, "Q6_K", 256, 210}, {15, "Q8_K", 256, 292},
		{16, "IQ2_XXS", 256, 66}, {19, "IQ1_S", 256, 50}, {20, "IQ4_NL", 32, 18}, {23, "IQ4_XS", 256, 136}, {29, "IQ1_M", 256, 56},
		{34, "TQ1_0", 256, 54}, {39, "MXFP4", 32, 17},
	} {
		data := make([]byte, 2*e.bytes)
		for i := range data {
			data[i] = byte(i * 7)
		}
		f := fields{magic: "GGUF", version: 3, tensors: []info{{name: "w", dims: []uint64{uint64(e.elems), 2}, typ: e.code, data: data}}}
		cases = append(cases, corpus.Case{Name: "type " + e.name, Bytes: f.bytes(), Version: "3", Tensors: []corpus.Tensor{{Name: "w", Type: e.name, Shape: []int64{2, e.elems}, Data: data}}})
	}
	// What is not known has the bytes up to the next tensor, or to the end.
	f := fields{magic: "GGUF", version: 3, unpadded: true, tensors: []info{
		{name: "new", dims: []uint64{10, 2}, typ: 99, data: repeated(40)}, {name: "none", dims: []uint64{0}, typ: math.MaxUint32}, {name: "last", dims: []uint64{7}, typ: 5, data: repeated(8)},
	}}
	return append(cases, corpus.Case{Name: "unknown types", Bytes: f.bytes(), Version: "3", Tensors: []corpus.Tensor{
		{Name: "new", Type: "type 99", Shape: []int64{2, 10}, Data: append(repeated(40), make([]byte, 24)...)},
		{Name: "none", Type: "type 4294967295", Shape: []int64{0}}, {Name: "last", Type: "Q4_3", Shape: []int64{7}, Data: repeated(8)},
	}})
}

func repeated(n int) []byte { return bytes.Repeat([]byte{9}, n) }

// goodShapes has ranks 0 to 4 and dims of 0.
func goodShapes() []corpus.Case {
	shaped := func(name string, dims []uint64, data []byte, shape ...int64) corpus.Case {
		return good(name, func(f *fields) { f.tensors[2].dims, f.tensors[2].data = dims, data }, a(), b(), corpus.Of("c", tensor.Int8, data, shape...))
	}
	return []corpus.Case{
		shaped("scalar", nil, []byte{7}), shaped("four dims", []uint64{4, 3, 2, 1}, repeated(24), 1, 2, 3, 4),
		shaped("dim of 0", []uint64{0}, nil, 0), shaped("dim of 0 beside a large one", []uint64{4, 0, 1 << 40}, nil, 1<<40, 0, 4),
	}
}

func goodSplits() []corpus.Case {
	all := split1of3("split in three", func([]fields) {})
	all.Version, all.Tensors = "3", []corpus.Tensor{
		corpus.Of("a", tensor.Int8, []byte{0, 2, 3}, 3), corpus.Of("b", tensor.Int8, []byte{1, 2, 3}, 3),
		corpus.Of("c", tensor.Float32, floats(2), 2), corpus.Of("d", tensor.Int8, []byte{9}, 1),
	}
	alone := corpus.Case{Name: "second part alone", Bytes: parts()[1].bytes(), Version: "3", Tensors: all.Tensors[:2],
		Notes: []string{"part 2 of 3 of a model"}}
	return []corpus.Case{all, alone}
}

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
		{"no bytes", cut(0), "magic", 0},
		{"magic cut", cut(3), "magic", 0},
		{"header cut", cut(23), "metadata_kv_count", 16},
		{"alignment cut", func(f *fields) {
			f.count, f.kvCount = ptr(uint64(0)), ptr(uint64(2))
			cut(98)(f)
		}, "metadata value", 97},
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
		{"array of 2^61 uint64", put(9, cat(le32(10), le64(1<<61))), "metadata array length", 121},
		{"array of 2^61 strings", put(9, cat(le32(8), le64(1<<61))), "metadata array length", 121},
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
	}},
	{format.ErrLimit, []malformedFile{{"arrays 9 deep", put(9, nested(9)), "metadata value", 213}}},
}

// cut leaves the first bytes of a file.
func cut(n int) func(*fields) { return func(f *fields) { f.lack = len(f.bytes()) - n } }

func align(typ uint32, value []byte) func(*fields) {
	return func(f *fields) { f.entries[1] = kv{"general.alignment", typ, value} }
}

func split1(key string, typ uint32, value []byte) func(*fields) {
	return func(f *fields) { f.entries[2] = kv{key, typ, value} }
}
