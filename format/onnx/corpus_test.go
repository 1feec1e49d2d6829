package onnx

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Codec: codec, Ext: ".onnx"}
	for _, m := range malformed {
		for _, c := range m.cases {
			s.Cases = append(s.Cases, corpus.Case{Name: c.name, Bytes: c.file, Err: m.err, Field: c.field, Offset: c.offset})
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
	const data, lengthField = "0123456789abcdef", "graph.initializer[0].external_data.length"
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
		refuse("to an end that is before", accept("", "", location, entry("offset", "17")), format.ErrTruncated, "graph.initializer[0].external_data.offset", 21),
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
		good("attribute tensor", attributed(ld(5, num(1, 2), num(2, 1), ld(9, make([]byte, 8)))), []corpus.Tensor{}...),
		good("subgraph has its own scope", modelOf(weight("w"), ld(1, str(4, "If"), ld(5, str(1, "then_branch"), ld(6, weight("w"))))), eight("w")),
		{Name: "20 levels of subgraphs", Bytes: nested(20), Version: "8"},
	}
}
