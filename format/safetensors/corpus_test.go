package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".safetensors"}
	for _, m := range malformedHeaders {
		for _, c := range m.cases {
			s.Cases = append(s.Cases, corpus.Refused(c.name, fileOf(c.mutate(base), count(6)...), m.err, c.field, c.offset))
		}
	}
	s.Cases = append(s.Cases, badLengths()...)
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
func row(name, typ string, data []byte, shape ...int64) corpus.Tensor {
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
	a := row("a", "float32", count(4), 1)
	b := row("b", "int8", count(6)[4:], 2)
	good := func(name string, mutate func(string) string, want ...corpus.Tensor) corpus.Case {
		return accepted(name, fileOf(mutate(base), count(6)...), want...)
	}
	cases := []corpus.Case{
		good("plain", swap("a", "a"), a, b),
		good("spaces behind the header", swap("]}}", "]}}      "), a, b),
		good("newline behind the header", swap("]}}", "]}}\n"), a, b),
		good("no metadata", swap(`"__metadata__":{"k":"v"},`, ""), a, b),
		good("surrogates in a pair", swap(`"b"`, `"\ud83d\ude00"`), a, row("😀", b.Type, b.Data, b.Shape...)),
		good("header that is not a multiple of 8", swap("]}}", "]}} "), a, b),
		accepted("large dims beside 0", fileOf(`{"a":{"dtype":"F32","shape":[0,1152921504606846976],"data_offsets":[0,0]}}`), row("a", "float32", nil, 0, 1<<60)),
		accepted("misaligned", fileOf(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}`, 0, 0, 0, 0x80, 0x3f),
			row("b", "uint8", []byte{0}, 1), row("a", "float32", []byte{0, 0, 0x80, 0x3f}, 1)),
		accepted("rank 64", fileOf(`{"a":{"dtype":"U8","shape":[`+strings.Repeat("1,", 63)+`1],"data_offsets":[0,1]}}`, 9), row("a", "uint8", []byte{9}, ones(64)...)),
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
		cases = append(cases, accepted("dtype "+d.said, fileOf(h, count(d.size)...), row("w", d.name, count(d.size), 2, 1)))
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
	a, b, c := row("a", "uint8", []byte{1, 2}, 2), row("b", "uint8", []byte{3}, 1), row("c", "F4", []byte{4}, 2)
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

// base is a valid header, which the tests modify, of two tensors in six bytes.
const base = `{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[2],"data_offsets":[4,6]}}`

const (
	atA = 8 + 26 // offset of the key a
	atB = 8 + 79 // offset of the key b
)

// swap returns a function that replaces old in a header.
func swap(old, new string) func(string) string {
	return func(h string) string {
		if !strings.Contains(h, old) {
			panic("the header has no " + old)
		}
		return strings.Replace(h, old, new, 1)
	}
}

func all(h string) func(string) string { return func(string) string { return h } }

// malformedHeader is the change to a good header, and the field and offset of the error.
type malformedHeader struct {
	name   string
	mutate func(string) string
	field  string
	offset int64
}

var malformedHeaders = []struct {
	err   error
	cases []malformedHeader
}{
	{format.ErrCorrupt, []malformedHeader{
		{"empty header", all(""), "header", 8},
		{"array", all("[]"), "header", 8},
		{"byte order mark", all("\ufeff{}"), "header", 8},
		{"NUL padding", swap("]}}", "]}}\x00"), "header", 8 + int64(len(base))},
		{"two objects", swap("]}}", "]}}{}"), "header", 8 + int64(len(base))},
		{"comma at the end", swap("]}}", "]},}"), "header", 8 + int64(len(base))},
		{"comment", swap(",", ",/**/"), "header", 8 + 26},
		{"control character", swap(`"a"`, "\"\n\""), "header", atA + 1},
		{"invalid UTF-8 in a name", swap(`"a"`, "\"\xff\""), "header", atA + 1},
		{"lone high surrogate", swap(`"a"`, `"\ud83d"`), "header", atA + 1},
		{"lone low surrogate", swap(`"a"`, `"\ude00"`), "header", atA + 1},
		{"lone surrogate in metadata", swap(`"v"`, `"\ud83dx"`), "__metadata__", 30},
		{"invalid UTF-8 in metadata", swap(`"v"`, "\"\xc0\x80\""), "__metadata__", 30},
		{"lone surrogate in a field that is ignored", swap(`"dtype"`, `"x":"\ud800","dtype"`), `tensor "a"`, 44},
		{"no offsets of no elements", swap(`"shape":[1],"data_offsets":[0,4]}`, `"shape":[0]}`), `tensor "a"`, atA},
		{"unknown dtype that ends before it begins", swap(`"F32","shape":[1],"data_offsets":[0,4]`, `"X9","shape":[1],"data_offsets":[4,0]`), `tensor "a"`, atA},
		{"tensor twice", swap(`"b"`, `"a"`), `tensor "a"`, atB},
		{"tensor twice, escaped", swap(`"b"`, `"\u0061"`), `tensor "a"`, atB},
		{"__metadata__ twice", swap(`"a":{`, `"__metadata__":null,"a":{`), "__metadata__", atA},
		{"metadata key twice", swap(`"v"`, `"v","\u006b":"w"`), "__metadata__", 33},
		{"metadata number", swap(`"v"`, `1`), "__metadata__", 29},
		{"metadata null value", swap(`"v"`, `null`), "__metadata__", 29},
		{"metadata array", swap(`{"k":"v"}`, `["k"]`), "__metadata__", 24},
		{"entry null", swap(`{"dtype":"I8","shape":[2],"data_offsets":[4,6]}`, `null`), `tensor "b"`, atB + 4},
		{"no dtype", swap(`"dtype":"I8",`, ``), `tensor "b"`, atB},
		{"no shape", swap(`"shape":[2],`, ``), `tensor "b"`, atB},
		{"no data_offsets", swap(`,"data_offsets":[4,6]`, ``), `tensor "b"`, atB},
		{"field twice", swap(`"shape":[2]`, `"shape":[2],"shape":[2]`), `tensor "b"`, 117},
		{"field twice, escaped", swap(`"dtype":"I8"`, `"dtype":"I8","dtyp\u0065":"I8"`), `tensor "b"`, 105},
		{"dtype number", swap(`"I8"`, `8`), `tensor "b"`, 100},
		{"dtype empty", swap(`"I8"`, `""`), `tensor "b"`, atB},
		{"shape number", swap(`[2]`, `2`), `tensor "b"`, 113},
		{"dim float", swap(`[2]`, `[2.0]`), `tensor "b"`, 114},
		{"dim with exponent", swap(`[2]`, `[2e0]`), `tensor "b"`, 114},
		{"dim negative", swap(`[2]`, `[-2]`), `tensor "b"`, 114},
		{"dim minus zero", swap(`[2]`, `[2,-0]`), `tensor "b"`, 116},
		{"dim with a leading zero", swap(`[2]`, `[02]`), `tensor "b"`, 114},
		{"dim 2^63", swap(`[2]`, `[9223372036854775808]`), `tensor "b"`, 114},
		{"dim 2^64+2", swap(`[2]`, `[18446744073709551618]`), `tensor "b"`, 114},
		{"offsets of one", swap(`[4,6]`, `[4]`), `tensor "b"`, 117},
		{"offsets of three", swap(`[4,6]`, `[4,6,6]`), `tensor "b"`, 117},
		{"offset negative", swap(`[4,6]`, `[-4,6]`), `tensor "b"`, 133},
		{"end before begin", swap(`[4,6]`, `[6,4]`), `tensor "b"`, atB},
		{"range too short", swap(`[4,6]`, `[4,5]`), `tensor "b"`, atB},
		{"range too long", swap(`[2],"data_offsets":[4,6]`, `[1],"data_offsets":[4,6]`), `tensor "b"`, atB},
		{"bytes left", swap(`[2],"data_offsets":[4,6]`, `[1],"data_offsets":[4,5]`), "data", 144},
		{"hole in front", swap(`"F32","shape":[1],"data_offsets":[0,4]`, `"U8","shape":[3],"data_offsets":[1,4]`), `tensor "a"`, 139},
		{"hole between", swap(`"F32","shape":[1],"data_offsets":[0,4]`, `"U8","shape":[3],"data_offsets":[0,3]`), `tensor "b"`, 142},
		{"overlap", swap(`[2],"data_offsets":[4,6]`, `[3],"data_offsets":[3,6]`), `tensor "b"`, 142},
		{"same range", swap(`"I8","shape":[2],"data_offsets":[4,6]`, `"F32","shape":[1],"data_offsets":[0,4]`), `tensor "b"`, 140},
		{"empty tensor within another", swap(`}}`, `},"c":{"dtype":"I8","shape":[0],"data_offsets":[2,2]}}`), `tensor "c"`, 193},
		{"no tensors, but data", all(`{}`), "data", 10},
		{"F4 of another size", swap(`"I8","shape":[2]`, `"F4","shape":[2]`), `tensor "b"`, atB},
		{"unknown dtype, no bytes", swap(`}}`, `},"c":{"dtype":"Q","shape":[1],"data_offsets":[6,6]}}`), `tensor "c"`, 139},
		{"unknown dtype, no elements", swap(`"I8","shape":[2]`, `"Q","shape":[0]`), `tensor "b"`, atB},
		{"128 levels", swap(`"dtype":"I8"`, `"x":`+strings.Repeat("[", 126)+strings.Repeat("]", 126)+`,"dtype":"I8"`), `tensor "b"`, 221},
		{"a million levels", all(`{"x":{"y":` + strings.Repeat("[", 1<<20)), `tensor "x"`, 143},
	}},
	{format.ErrShape, []malformedHeader{
		{"product overflows", swap(`[2]`, `[4294967296,4294967296,2]`), `tensor "b"`, atB},
		{"product overflows with the element", swap(`[1]`, `[4611686018427387904]`), `tensor "a"`, atA},
		{"product overflows beside 0", swap(`[1]`, `[4611686018427387904,0,4]`), `tensor "a"`, atA},
		{"half a byte", swap(`"I8","shape":[2]`, `"F4","shape":[3]`), `tensor "b"`, atB},
		{"unknown dtype, product overflows", swap(`"I8","shape":[2]`, `"Q","shape":[4294967296,4294967296]`), `tensor "b"`, atB},
	}},
	{format.ErrLimit, []malformedHeader{{"too many dims", swap(`[2]`, "["+strings.Repeat("1,", 1<<16)+"2]"), `header`, 131186}}},
	{format.ErrTruncated, []malformedHeader{
		{"offset 2^60", swap(`[4,6]`, `[4,1152921504606846976]`), `tensor "b"`, atB},
		{"beyond the file", swap(`[2],"data_offsets":[4,6]`, `[3],"data_offsets":[4,7]`), `tensor "b"`, atB},
	}},
}

// badLengths returns files with an invalid header length.
func badLengths() []corpus.Case {
	good := fileOf(base, count(6)...)
	with := func(n uint64) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b, n)
		return b
	}
	return []corpus.Case{
		corpus.Refused("no bytes", nil, format.ErrTruncated, "header length", 0),
		corpus.Refused("seven bytes", good[:7], format.ErrTruncated, "header length", 0),
		corpus.Refused("length alone", good[:8], format.ErrTruncated, "header length", 0),
		corpus.Refused("length one too many", with(uint64(len(good))-7), format.ErrTruncated, "header length", 0),
		corpus.Refused("length 2^55", with(1<<55), format.ErrTruncated, "header length", 0),
		corpus.Refused("length 2^64-1", with(1<<64-1), format.ErrTruncated, "header length", 0),
		corpus.Refused("length zero", with(0), format.ErrCorrupt, "header", 8),
		corpus.Refused("length one too few", with(uint64(len(base))-1), format.ErrCorrupt, "header", 8+int64(len(base))-1),
	}
}

// TestLongestHeader opens a header of 100,000,000 bytes and refuses a longer one.
func TestLongestHeader(t *testing.T) {
	b := append(binary.LittleEndian.AppendUint64(nil, maxHeader+1), bytes.Repeat([]byte{' '}, maxHeader+1)...)
	copy(b[8:], `{}`)
	expect.Refused(t, format.ErrLimit)(openBytes(b, nil))
	binary.LittleEndian.PutUint64(b, maxHeader)
	if _, err := openBytes(b[:8+maxHeader], nil); err != nil {
		t.Errorf("a header of the largest size: %v", err)
	}
}
