package gguf

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Codec: codec, Ext: ".gguf"}
	for _, m := range malformed {
		for _, c := range m.cases {
			f := small()
			c.mutate(&f)
			s.Cases = append(s.Cases, corpus.Case{Name: c.name, Bytes: f.bytes(), Err: m.err, Field: c.field, Offset: c.offset})
		}
	}
	whole := small().bytes()
	for _, c := range []struct {
		name   string
		size   int
		field  string
		offset int64
	}{
		{"no bytes", 0, "magic", 0}, {"magic cut", 3, "magic", 0}, {"header cut", 23, "metadata_kv_count", 16},
	} {
		s.Cases = append(s.Cases, corpus.Case{Name: c.name, Bytes: whole[:c.size], Err: format.ErrTruncated, Field: c.field, Offset: c.offset})
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
		{name: "new", dims: []uint64{10, 2}, typ: 99, data: repeated(40)}, {name: "none", dims: []uint64{0}, typ: 99}, {name: "last", dims: []uint64{7}, typ: 5, data: repeated(8)},
	}}
	return append(cases, corpus.Case{Name: "unknown types", Bytes: f.bytes(), Version: "3", Tensors: []corpus.Tensor{
		{Name: "new", Type: "type 99", Shape: []int64{2, 10}, Data: append(repeated(40), make([]byte, 24)...)},
		{Name: "none", Type: "type 99", Shape: []int64{0}}, {Name: "last", Type: "Q4_3", Shape: []int64{7}, Data: repeated(8)},
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
		Notes: []string{"part 2 of 3 of a split model, opened alone: the first part, by its name, opens all"}}
	return []corpus.Case{all, alone}
}
