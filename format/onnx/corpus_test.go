package onnx

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".onnx"}
	for _, m := range malformed {
		for _, c := range m.cases {
			s.Cases = append(s.Cases, corpus.Refused(c.name, c.file, m.err, c.field, c.offset))
		}
	}
	s.Cases = append(s.Cases, outsideCases()...)
	s.Cases = append(s.Cases, goodTypes()...)
	s.Cases = append(s.Cases, goodModels()...)
	s.Run(t)
}

func good(name string, b []byte, tensors ...corpus.Tensor) corpus.Case {
	return corpus.Case{Name: name, Bytes: b, Version: "8", Tensors: tensors}
}

// eight is what weight holds.
func eight(name string) corpus.Tensor {
	return corpus.Of(name, tensor.Float32, make([]byte, 8), 2)
}

// outsideCases are models with data in a file next to them.
func outsideCases() []corpus.Case {
	const data, lengthField = "0123456789abcdef", first + "external_data.length"
	model := func(name string, b []byte) corpus.Case {
		return corpus.Case{Name: "external: " + name, Open: "model.onnx", Files: map[string][]byte{"model.onnx": b, "weights/w.bin": []byte(data)}}
	}
	accept := func(name, text string, entries ...[]byte) corpus.Case {
		c := model(name, outside(entries...))
		c.Version, c.Tensors = "8", []corpus.Tensor{corpus.Of("w", tensor.Float32, []byte(text), 2)}
		return c
	}
	refuse := func(name string, c corpus.Case, err error, field string, offset int64) corpus.Case {
		c.Name, c.Version, c.Tensors, c.Err, c.Field, c.Offset = "external: "+name, "", nil, err, field, offset
		return c
	}
	late := func(name string, entries ...[]byte) corpus.Case {
		// The range is not kept: the error is at the message of the tensor.
		c := refuse(name, accept("", "", entries...), format.ErrTruncated, `tensor "w"`, 23)
		c.Late = true
		return c
	}
	location := entry("location", "weights/w.bin")
	whole := model("all of the file", modelOfW(4, 1, location, num(14, 1)))
	whole.Version, whole.Tensors = "8", []corpus.Tensor{corpus.Of("w", tensor.Float32, []byte(data), 4)}
	return []corpus.Case{
		whole,
		accept("offset and length", data[4:12], location, entry("offset", "4"), entry("length", "8")),
		accept("offset to the end", data[8:], location, entry("offset", "8")),
		accept("length alone", data[:8], location, entry("length", "8")),
		accept("./, and unknown entries", data[:8], entry("location", "./weights/w.bin"), entry("length", "8"), entry("checksum", "abc"), entry("x", "")),
		late("range beyond the end", location, entry("offset", "12"), entry("length", "8")),
		late("offset beyond the end", location, entry("offset", "17"), entry("length", "8")),
		accept("up and down, to the end", data[8:], entry("location", "none/../weights/w.bin"), entry("offset", "8")),
		refuse("a byte too many to the end", accept("", "", location, entry("offset", "7")), format.ErrCorrupt, lengthField, 21),
		refuse("a byte too few to the end", accept("", "", location, entry("offset", "9")), format.ErrCorrupt, lengthField, 21),
		refuse("to an end that is before", accept("", "", location, entry("offset", "17")), format.ErrTruncated, first+"external_data.offset", 21),
		refuse("unknown type, none left", model("", modelOfW(2, 99, location, entry("offset", "16"), num(14, 1))), format.ErrCorrupt, lengthField, 21),
	}
}

// goodTypes has every element type as raw data, and in the list that its type has.
func goodTypes() (cases []corpus.Case) {
	add := func(name string, code uint64, typ string, data []byte, fields ...[]byte) {
		cases = append(cases, good(name, modelOfW(2, code, cat(fields...)), corpus.Tensor{Name: "w", Type: typ, Shape: []int64{2}, Data: data}))
	}
	for _, c := range []struct {
		code uint64
		d    tensor.DType
	}{
		{1, tensor.Float32}, {2, tensor.Uint8}, {3, tensor.Int8}, {4, tensor.Uint16}, {5, tensor.Int16}, {6, tensor.Int32}, {7, tensor.Int64}, {9, tensor.Bool}, {10, tensor.Float16},
		{11, tensor.Float64}, {12, tensor.Uint32}, {13, tensor.Uint64}, {14, tensor.Complex64}, {16, tensor.BFloat16}, {17, tensor.Float8E4M3FN}, {19, tensor.Float8E5M2},
	} {
		raw := bytes.Repeat([]byte{1, 2, 3, 4}, 4)[:2*c.d.Size()]
		add("raw "+c.d.String(), c.code, c.d.String(), raw, ld(9, raw))
	}
	one, minus := uint64(1), uint64(negative)
	for _, c := range []struct {
		code uint64
		d    tensor.DType
		data []byte
		list []byte
	}{
		{2, tensor.Uint8, []byte{1, 255}, ld(5, varint(1), varint(255))}, {3, tensor.Int8, []byte{1, 255}, ld(5, varint(one), varint(minus))},
		{4, tensor.Uint16, []byte{1, 0, 255, 255}, ld(5, varint(1), varint(65535))}, {5, tensor.Int16, []byte{1, 0, 255, 255}, ld(5, varint(1), varint(minus))},
		{6, tensor.Int32, []byte{1, 0, 0, 0, 255, 255, 255, 255}, cat(num(5, 1), num(5, minus))}, {9, tensor.Bool, []byte{1, 0}, ld(5, varint(1), varint(0))},
		{10, tensor.Float16, []byte{0, 0x3C, 0, 0xC0}, ld(5, varint(0x3C00), varint(0xC000))}, {16, tensor.BFloat16, []byte{0x80, 0x3F, 0, 0xC0}, ld(5, varint(0x3F80), varint(0xC000))},
		{7, tensor.Int64, []byte{1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}, ld(7, varint(1), varint(minus))},
		{12, tensor.Uint32, []byte{1, 0, 0, 0, 2, 0, 0, 0}, ld(11, varint(1), varint(2))}, {13, tensor.Uint64, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}, ld(11, varint(1), varint(2))},
		{1, tensor.Float32, []byte{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}, cat(f32(4, 1), f32(4, -2))}, {1, tensor.Float32, []byte{1, 2, 3, 4, 5, 6, 7, 8}, ld(4, []byte{1, 2, 3, 4, 5, 6, 7, 8})},
		{11, tensor.Float64, make([]byte, 16), ld(10, make([]byte, 16))}, {14, tensor.Complex64, make([]byte, 16), ld(4, make([]byte, 16))},
	} {
		add(fmt.Sprintf("list %d of %v", len(cases), c.d), c.code, c.d.String(), c.data, c.list)
	}
	return cases
}

// goodModels are models of all kinds.
func goodModels() []corpus.Case {
	scalar := tensorOf(num(2, 2), str(8, "w"), ld(9, []byte{7}))
	metadata := cat(modelOf(weight("w")), ld(14, str(1, "k"), str(2, "v")))
	return []corpus.Case{
		good("no initializers", modelOf()), good("plain", modelOf(weight("w")), eight("w")), good("several", modelOf(weight("b"), weight("a")), eight("b"), eight("a")),
		good("scalar", modelOf(scalar), corpus.Of("w", tensor.Uint8, []byte{7})),
		good("no elements, no data", modelOfW(0, 1), corpus.Of("w", tensor.Float32, nil, 0)),
		good("no elements, raw data of no bytes", modelOf(tensorOf(num(1, 3), num(1, 0), num(2, 1), str(8, "w"), ld(9))), corpus.Of("w", tensor.Float32, nil, 3, 0)),
		good("packed dims", modelOf(tensorOf(ld(1, varint(2)), num(2, 1), str(8, "w"), ld(9, make([]byte, 8)))), eight("w")),
		good("unknown fields", cat(modelOf(str(200, "new"), tensorOf(num(1, 2), num(2, 1), str(300, "x"), str(8, "w"), ld(9, make([]byte, 8)))), num(99, 5)), eight("w")),
		good("operator sets first", cat(ld(8, num(2, 17)), num(1, 8), str(2, "me"), ld(7, weight("w"))), eight("w")),
		good("a field of a newer schema before the graph", cat(num(1, 8), str(2, "me"), num(99, 5), ld(7, weight("w"))), eight("w")),
		good("unknown element type", modelOf(tensorOf(num(1, 2), num(2, 99), str(8, "v"), ld(9, []byte{1, 2, 3}))),
			corpus.Tensor{Name: "v", Type: "type 99", Shape: []int64{2}, Data: []byte{1, 2, 3}}),
		good("metadata", metadata, eight("w")),
		good("a domain imported twice", cat(modelOf(weight("w")), ld(8, num(2, 13))), eight("w")),
		good("attribute tensor", attributed(ld(5, num(1, 2), num(2, 1), ld(9, make([]byte, 8)))), []corpus.Tensor{}...),
		good("subgraph has its own scope", modelOf(weight("w"), ld(1, str(4, "If"), ld(5, str(1, "then_branch"), ld(6, weight("w"))))), eight("w")),
		{Name: "20 levels of subgraphs", Bytes: nested(20), Version: "8"},
	}
}

const (
	negative = 1<<64 - 1
	first    = "graph.initializer[0]." // the field of the first initializer
)

func entry(key, value string) []byte { return ld(13, str(1, key), str(2, value)) }

// outside is a tensor of 8 bytes with external data.
func outside(entries ...[]byte) []byte {
	return modelOfW(2, 1, cat(entries...), num(14, 1))
}

// attributed is a model with one attribute.
func attributed(parts ...[]byte) []byte {
	return modelOf(ld(1, str(4, "Op"), ld(5, str(1, "a"), cat(parts...))))
}

// oneByte is the tensor of an attribute.
var oneByte = ld(5, num(1, 1), num(2, 2), ld(9, []byte{1}))

// sparseOf is a sparse initializer of shape [5] with these values.
func sparseOf(values ...[]byte) []byte {
	return ld(15, cat(values...), ld(2, num(1, 1), num(2, 7), num(7, 1)), num(3, 5))
}

// malformedFile is a file, and the field and offset of the error.
type malformedFile struct {
	name   string
	file   []byte
	field  string
	offset int64
}

var malformed = []struct {
	err   error
	cases []malformedFile
}{
	{format.ErrTruncated, []malformedFile{
		{"empty", nil, "model", 0},
		{"no graph", num(1, 8), "graph", 0},
		{"length beyond the file", cat(num(1, 8), varint(7<<3|2), varint(1<<60)), "graph", 2},
	}},
	{format.ErrCorrupt, []malformedFile{
		{"text", []byte("ir_version: 8\nproducer_name: \"x\"\ngraph {\n  name: \"g\"\n}\n"), "model", 9},
		{"text without version", []byte("graph {\n  name: \"g\"\n}\n"), "model", 0},
		{"JSON", []byte(`{"irVersion": "8"}`), "model", 0},
		{"two models", cat(modelOf(weight("a")), modelOf(weight("b"))), "graph", 46},
		{"version of another wire type", cat(str(1, "8"), modelOf()), "ir_version", 0},
		{"graph of another wire type", cat(num(1, 8), num(7, 1)), "graph", 2},
		{"initializer of another wire type", modelOf(num(5, 1)), "graph.initializer[0]", 21},
		{"raw data of another wire type", modelOfW(1, 2, num(9, 1)), first + "raw_data", 30},
		{"type again of another wire type", modelOf(tensorOf(num(1, 2), num(2, 1), str(2, "x"), str(8, "w"), ld(9, make([]byte, 8)))), first + "data_type", 27},
		{"group", cat([]byte{0x9b, 0x06}, modelOf()), "model", 0},
		{"invalid UTF-8", cat(str(2, "\xff"), modelOf()), "producer_name", 0},
		{"invalid UTF-8 in op_type", modelOf(ld(1, str(2, "z"), str(4, "Re\xfflu"))), "graph.node[1].op_type", 26},
		{"invalid UTF-8 in the domain of an operator set", cat(modelOf(), ld(8, num(2, 1), str(1, "\xc3"))), "opset_import[1].domain", 29},
		{"key of metadata_props twice", cat(modelOf(), ld(14, str(1, "k")), ld(14, str(1, "k"))), "metadata_props", 0},
		{"no name", modelOf(tensorOf(num(1, 1), num(2, 2), ld(9, []byte{1}))), first + "name", 21},
		{"NUL in a name", modelOf(tensorOf(num(1, 1), num(2, 2), str(8, "a\x00"), ld(9, []byte{1}))), first + "name", 21},
		{"name twice", modelOf(weight("w"), weight("w")), "graph.initializer[1].name", 40},
		{"no type", modelOf(tensorOf(num(1, 1), str(8, "w"), ld(9, []byte{1}))), first + "data_type", 21},
		{"negative dim", modelOfW(negative, 2, ld(9, []byte{1})), first + "dims", 21},
		{"product overflows", modelOf(tensorOf(num(1, 1<<40), num(1, 1<<40), num(2, 2), str(8, "w"))), first + "dims", 21},
		{"product overflows with the element", modelOfW(1<<62, 1), first + "dims", 21},
		{"product overflows beside 0", modelOf(tensorOf(num(1, 1<<40), num(1, 0), num(1, 1<<40), num(2, 2), str(8, "w"))), first + "dims", 21},
		{"dim of 2^60 without data", modelOfW(1<<60, 2), first + "raw_data", 21},
		{"raw data too short", modelOfW(2, 1, ld(9, make([]byte, 7))), first + "raw_data", 30},
		{"raw data of no elements", modelOfW(0, 1, ld(9, make([]byte, 4))), first + "raw_data", 30},
		{"raw and typed data", modelOfW(1, 1, ld(9, make([]byte, 4)), f32(4, 1)), first + "raw_data", 30},
		{"two lists", modelOfW(1, 1, f32(4, 1), num(5, 1)), first + "int32_data", 21},
		{"list of another type", modelOfW(1, 1, num(5, 1)), first + "int32_data", 21},
		{"list too short", modelOfW(2, 1, f32(4, 1)), first + "float_data", 21},
		{"list too long", modelOfW(2, 3, ld(5, []byte{1, 2, 3})), first + "int32_data", 21},
		{"half a float", modelOfW(1, 1, ld(4, make([]byte, 6))), first + "float_data", 30},
		{"cut varint in a list", modelOfW(1, 3, ld(5, []byte{0x80})), first + "int32_data", 32},
		{"complex of one float", modelOfW(1, 14, f32(4, 1)), first + "float_data", 21},
		{"no data", modelOfW(1, 1), first + "raw_data", 21},
		{"strings as raw data", modelOfW(1, 8, ld(9, []byte("a"))), first + "raw_data", 30},
		{"external: no location", outside(), first + "external_data.location", 21},
		{"external: absolute", outside(entry("location", "/etc/passwd")), first + "external_data.location", 21},
		{"external: leads out", outside(entry("location", "../w")), first + "external_data.location", 21},
		{"external: leads out in the end", outside(entry("location", "a/../../w")), first + "external_data.location", 21},
		{"external: drive", outside(entry("location", `C:\w`)), first + "external_data.location", 21},
		{"external: negative offset", outside(entry("location", "w"), entry("offset", "-8"), entry("length", "8")), first + "external_data[1]", 45},
		{"external: offset and length overflow", outside(entry("location", "w"), entry("offset", "9223372036854775807"), entry("length", "8")), first + "external_data.length", 21},
		{"external: other length", outside(entry("location", "w"), entry("length", "9")), first + "external_data.length", 21},
		{"external: length is no number", outside(entry("location", "w"), entry("length", "8.0")), first + "external_data[1]", 45},
		{"external: location twice", outside(entry("location", "w"), entry("location", "v")), first + "external_data[1]", 45},
		{"external: raw data too", outside(entry("location", "w"), ld(9, make([]byte, 8))), first + "external_data.location", 21},
		{"attribute: tensor too short", attributed(ld(5, num(1, 2), num(2, 1), ld(9, make([]byte, 4)))), "graph.node[1].attribute[0].t.raw_data", 38},
		{"attribute: tensor leads out", attributed(ld(5, num(1, 2), num(2, 1), entry("location", "../w"), num(14, 1))), "graph.node[1].attribute[0].t.external_data.location", 32},
		{"attribute: negative dim of a list", attributed(ld(10, num(1, negative), num(2, 1))), "graph.node[1].attribute[0].tensors[0].dims", 32},
		{"attribute: subgraph with a bad tensor", attributed(ld(6, ld(5, num(1, 1), num(2, 1), str(8, "w")))), "graph.node[1].attribute[0].g.initializer[0].raw_data", 34},
		{"attribute twice", modelOf(ld(1, ld(5, str(1, "a")), ld(5, str(1, "a")))), "graph.node[1].attribute", 21},
		{"input twice", modelOf(ld(11, str(1, "x")), ld(11, str(1, "x"))), "graph.input", 4},
		{"subgraph: name twice", attributed(ld(6, weight("w"), weight("w"))), "graph.node[1].attribute[0].g.initializer", 32},
		{"sparse: indices do not fit", modelOf(ld(15, ld(1, num(1, 1), num(2, 1), str(8, "s"), f32(4, 1)), ld(2, num(1, 2), num(2, 7), ld(7, []byte{1, 2})), num(3, 5))), "graph.sparse_initializer[0].indices", 21},
		{"sparse: name of another tensor", modelOf(weight("w"), ld(15, ld(1, num(1, 1), num(2, 1), str(8, "w"), f32(4, 1)), ld(2, num(1, 1), num(2, 7), num(7, 1)), num(3, 5))), "graph.sparse_initializer[0].name", 40},
		{"attribute: two tensors", attributed(oneByte, oneByte), "graph.node[1].attribute[0].t", 41},
		{"sparse: without values", modelOf(sparseOf()), "graph.sparse_initializer[0].values", 21},
		{"sparse: values of two dims", modelOf(sparseOf(ld(1, num(1, 1), num(1, 1), num(2, 1), str(8, "s"), f32(4, 1)))), "graph.sparse_initializer[0].values", 21},
		{"int32_data as fixed32", modelOfW(4, 3, f32(5, 0)), first + "int32_data", 30},
		{"data_location 2", modelOfW(1, 2, ld(9, []byte{1}), num(14, 2)), first + "data_location", 21},
		{"two lists of as many values as there are elements", modelOfW(2, 1, num(5, 1), f32(4, 1)), first + "float_data", 21},
		{"complex128 of 2^63 bytes", modelOfW(1<<59, 15), first + "dims", 21},
		{"unknown type, data for no elements", modelOfW(0, 99, ld(9, []byte{1})), first + "raw_data", 30},
		{"unknown type, no data for elements", modelOfW(1, 99, ld(9)), first + "raw_data", 30},
		{"unknown type, typed data for no elements", modelOfW(0, 99, num(7, 1)), first + "int64_data", 21},
		{"attribute: half a float as its value", attributed([]byte{2<<3 | 5, 0, 0}), "graph.node[1].attribute[0].f", 32},
		{"external: typed data too", outside(entry("location", "w"), f32(4, 1), f32(4, 2)), first + "external_data.location", 21},
		{"external: unknown type, length 0 for elements", modelOfW(2, 99, entry("location", "w"), entry("length", "0"), num(14, 1)), first + "external_data.length", 21},
		{"101 levels", nested(60), "graph" + strings.Repeat(".node[0].attribute[0].g", 33), 401},
	}},
	{format.ErrUnsupported, []malformedFile{{"segment", modelOfW(1, 2, ld(3, num(1, 0)), ld(9, []byte{1})), first + "segment", 21}}},
}

// nested is a model with so many subgraphs in each other.
func nested(n int) []byte {
	g := str(2, "g")
	for range n {
		g = ld(1, ld(5, str(1, "a"), ld(6, g)))
	}
	return cat(num(1, 8), ld(7, g))
}
