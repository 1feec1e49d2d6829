package safetensors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Codec: codec, Ext: ".safetensors"}
	for _, m := range malformedHeaders {
		for _, c := range m.cases {
			s.Cases = append(s.Cases, corpus.Case{Name: c.name, Bytes: fileOf(c.mutate(base), count(6)...), Err: m.err, Field: c.field, Offset: c.offset})
		}
	}
	for _, c := range badLengths() {
		s.Cases = append(s.Cases, corpus.Case{Name: c.name, Bytes: c.file, Err: c.err, Field: c.field, Offset: c.offset})
	}
	for _, c := range badIndexes {
		bad := sharded("index: "+c.name, c.index)
		bad.Err, bad.Field, bad.Offset, bad.In = c.err, c.field, c.offset, c.in
		s.Cases = append(s.Cases, bad)
	}
	for _, c := range golden() {
		s.Cases = append(s.Cases, accepted(c.name, c.file, c.want...))
	}
	s.Cases = append(s.Cases, goodFiles()...)
	s.Cases = append(s.Cases, goodIndexes()...)
	s.Run(t)
}

func accepted(name string, b []byte, want ...corpus.Tensor) corpus.Case {
	return corpus.Case{Name: name, Bytes: b, Version: "1", Tensors: want}
}

// row is a tensor of the table.
func row(name, typ string, shape tensor.Shape, data []byte) corpus.Tensor {
	return corpus.Tensor{Name: name, Type: typ, Shape: shape, Data: data}
}

// sharded is a model in several files.
func sharded(name, index string) corpus.Case {
	return corpus.Case{Name: name, Open: "model.safetensors.index.json", Files: map[string][]byte{
		"model.safetensors.index.json": []byte(index), "s1.safetensors": shard1, "s2.safetensors": shard2,
		"dir/x": nil, "broken": shard1[:len(shard1)-2], "pytorch_model.bin": []byte("PK\x03\x04 a zip archive with a pickle"),
	}}
}

// goodFiles returns files that the format and its reference implementation accept.
func goodFiles() []corpus.Case {
	a := row("a", "float32", []int64{1}, count(4))
	b := row("b", "int8", []int64{2}, count(6)[4:])
	good := func(name string, mutate func(string) string, want ...corpus.Tensor) corpus.Case {
		return accepted(name, fileOf(mutate(base), count(6)...), want...)
	}
	cases := []corpus.Case{
		good("plain", swap("a", "a"), a, b),
		good("spaces behind the header", swap("]}}", "]}}      "), a, b),
		good("newline behind the header", swap("]}}", "]}}\n"), a, b),
		good("no metadata", swap(`"__metadata__":{"k":"v"},`, ""), a, b),
		good("surrogates in a pair", swap(`"b"`, `"\ud83d\ude00"`), a, row("😀", b.Type, b.Shape, b.Data)),
		good("header that is not a multiple of 8", swap("]}}", "]}} "), a, b),
		accepted("large dims beside 0", fileOf(`{"a":{"dtype":"F32","shape":[0,1152921504606846976],"data_offsets":[0,0]}}`), row("a", "float32", []int64{0, 1 << 60}, nil)),
		accepted("misaligned", fileOf(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}`, 0, 0, 0, 0x80, 0x3f),
			row("b", "uint8", []int64{1}, []byte{0}), row("a", "float32", []int64{1}, []byte{0, 0, 0x80, 0x3f})),
		accepted("rank 64", fileOf(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,", 63)+`1],"data_offsets":[0,1]}}`, 9), row("a", "uint8", ones(64), []byte{9})),
	}
	for _, d := range []struct {
		said, name string
		size       int // of two elements
	}{
		{"BOOL", "bool", 2}, {"U8", "uint8", 2}, {"I8", "int8", 2}, {"I16", "int16", 4}, {"U16", "uint16", 4}, {"F16", "float16", 4}, {"BF16", "bfloat16", 4},
		{"I32", "int32", 8}, {"U32", "uint32", 8}, {"F32", "float32", 8}, {"F64", "float64", 16}, {"I64", "int64", 16}, {"U64", "uint64", 16}, {"C64", "complex64", 16},
		{"F8_E4M3", "float8_e4m3fn", 2}, {"F8_E5M2", "float8_e5m2", 2}, {"F8_E8M0", "F8_E8M0", 2}, {"F4", "F4", 1}, {"Q9", "Q9", 3},
	} {
		h := fmt.Sprintf(`{"w":{"dtype":"%s","shape":[2,1],"data_offsets":[0,%d]}}`, d.said, d.size)
		cases = append(cases, accepted("dtype "+d.said, fileOf(h, count(d.size)...), row("w", d.name, []int64{2, 1}, count(d.size))))
	}
	return cases
}

func ones(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

func goodIndexes() []corpus.Case {
	a, b, c := row("a", "uint8", []int64{2}, []byte{1, 2}), row("b", "uint8", []int64{1}, []byte{3}), row("c", "F4", []int64{2}, []byte{4})
	good := func(name, index string, want ...corpus.Tensor) corpus.Case {
		s := sharded("index: "+name, index)
		s.Version, s.Tensors = "1", want
		return s
	}
	nested := good("shard in a directory", `{"weight_map":{"a":"x/y.safetensors"}}`, a)
	nested.Files["x/y.safetensors"] = shard1
	left := good("tensors that it does not name", index, c, b, a)
	left.Notes = []string{"tensors of shards that the index does not name, and that are left out: 2"}
	return []corpus.Case{
		left, nested,
		good("one shard", `{"metadata":{},"weight_map":{"b":"s1.safetensors","a":"s1.safetensors"}}`, b, a),
		good("metadata null", `{"metadata":null,"weight_map":{"a":"s1.safetensors"}}`, a),
		good("no tensors", `{"weight_map":{}}`),
		good("nested keys twice", `{"metadata":{"m":{"k":1,"k":2}},"weight_map":{"a":"s1.safetensors"},"x":[{}]}`, a),
	}
}
