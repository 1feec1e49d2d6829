package onnxgraph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

const (
	_ messages.Type = iota
	graphT
	nodeT
	attributeT
	tensorT
	valueT
	typeT
	tensorTypeT
	shapeT
	dimT
)

// table has the messages that both formats have, with the numbers of ONNX.
var table = messages.Schema{
	graphT: {Name: "Graph", Fields: []messages.Field{
		1:  {Name: "node", Kind: messages.Nested, Many: true, Of: nodeT},
		2:  {Name: "name", Kind: messages.String},
		5:  {Name: "initializer", Kind: messages.Nested, Many: true, Of: tensorT, Use: messages.Declares},
		10: {Name: "doc_string", Kind: messages.String, Use: messages.Native},
		11: {Name: "input", Kind: messages.Nested, Many: true, Of: valueT},
		12: {Name: "output", Kind: messages.Nested, Many: true, Of: valueT},
	}},
	nodeT: {Name: "Node", Fields: []messages.Field{
		1: {Name: "input", Kind: messages.String, Many: true, Use: messages.Ref},
		2: {Name: "output", Kind: messages.String, Many: true, Use: messages.Ref},
		3: {Name: "name", Kind: messages.String},
		4: {Name: "op_type", Kind: messages.String},
		5: {Name: "attribute", Kind: messages.Nested, Many: true, Of: attributeT},
		7: {Name: "domain", Kind: messages.Ours},
	}},
	attributeT: {Name: "Attribute", Fields: []messages.Field{
		1:  {Name: "name", Kind: messages.String},
		2:  {Name: "f", Kind: messages.Float},
		3:  {Name: "i", Kind: messages.Int},
		4:  {Name: "s", Kind: messages.Blob},
		5:  {Name: "t", Kind: messages.Nested, Of: tensorT},
		6:  {Name: "g", Kind: messages.Nested, Of: graphT},
		7:  {Name: "floats", Kind: messages.Float, Many: true},
		8:  {Name: "ints", Kind: messages.Int, Many: true},
		9:  {Name: "strings", Kind: messages.Blob, Many: true},
		10: {Name: "tensors", Kind: messages.Nested, Many: true, Of: tensorT},
		11: {Name: "graphs", Kind: messages.Nested, Many: true, Of: graphT},
		20: {Name: "type", Kind: messages.Enum},
	}},
	tensorT: {Name: "Tensor", Fields: []messages.Field{8: {Name: "name", Kind: messages.String}}},
	valueT: {Name: "ValueInfo", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.String}, 2: {Name: "type", Kind: messages.Nested, Of: typeT},
	}},
	typeT: {Name: "Type", Fields: []messages.Field{
		1: {Name: "tensor_type", Kind: messages.Nested, Of: tensorTypeT},
	}},
	tensorTypeT: {Name: "TensorType", Fields: []messages.Field{
		1: {Name: "elem_type", Kind: messages.Enum}, 2: {Name: "shape", Kind: messages.Nested, Of: shapeT},
	}},
	shapeT: {Name: "Shape", Fields: []messages.Field{
		1: {Name: "dim", Kind: messages.Nested, Many: true, Of: dimT},
	}},
	dimT: {Name: "Dimension", Fields: []messages.Field{
		1: {Name: "dim_value", Kind: messages.Int}, 2: {Name: "dim_param", Kind: messages.String},
	}},
}

var testDialect = Dialect{
	Schema: table, Graph: graphT, Tensor: tensorT, TensorName: 8,
	GraphFields: GraphFields{Nodes: 1, Name: 2, Initializers: 5, Inputs: 11, Outputs: 12},
	NodeFields:  NodeFields{Inputs: 1, Outputs: 2, Name: 3, Op: 4},
	DType: func(code int32) tensor.DType {
		if code == 1 {
			return tensor.Float32
		}
		return tensor.Invalid
	},
	Code: func(d tensor.DType) int32 {
		if d == tensor.Float32 {
			return 1
		}
		return 0
	},
}

func ld(field int, parts ...[]byte) []byte {
	b := bytes.Join(parts, nil)
	head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|2), uint64(len(b)))
	return append(head, b...)
}

func str(field int, s string) []byte { return ld(field, []byte(s)) }

func num(field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), v)
}

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// errBad is the error of a tensor with the name "bad".
var errBad = errors.New("bad tensor")

// names are Tensors that records what it is asked.
type names struct{ calls []string }

func (n *names) Attribute(at int64, pieces []messages.Message) (tensor.View, error) {
	name := ""
	for _, p := range pieces {
		name += testDialect.NameOf(p)
	}
	n.calls = append(n.calls, fmt.Sprintf("attribute %q at %d", name, at))
	if name == "bad" {
		return tensor.View{}, &messages.Error{At: at, Field: "name", Err: errBad}
	}
	return tensor.View{}, nil
}

func (n *names) Initializer(at int64, m messages.Message, main bool) (string, bool, error) {
	name := testDialect.NameOf(m)
	n.calls = append(n.calls, fmt.Sprintf("initializer %q at %d, %v", name, at, main))
	return name, !main, nil
}

func (n *names) Sparse(int64, messages.Message, bool) error { return errBad }

func decode(t *testing.T, d *Dialect, b []byte, most int64) (*schema.Graph, *names, error) {
	t.Helper()
	m, err := table.Check(graphT, string(b), messages.NewCounts())
	expect.OK(t, err)
	n := &names{}
	decoder := &Decoder{Dialect: d, Tensors: n, Room: messages.Room{Most: most}}
	g, err := decoder.Decode(m)
	return g, n, err
}

// value is an input with a type of one tensor.
func value(name string, elem uint64, dims ...[]byte) []byte {
	return ld(11, str(1, name), ld(2, ld(1, num(1, elem), ld(2, dims...))))
}

// TestDecode: each field of the messages.
func TestDecode(t *testing.T) {
	sub := cat(str(2, "sub"), ld(5, str(8, "w")))
	attribute := func(parts ...[]byte) []byte { return ld(5, parts...) }
	b := cat(
		str(2, "g"), ld(15, num(1, 1)), ld(5, str(8, "main")), value("x", 1, ld(1, num(1, 3)), ld(1, str(2, "n")), ld(1)),
		value("odd", 77), ld(11, str(1, "untyped")), ld(12, str(1, "y")),
		ld(1, str(1, "x"), str(1, ""), str(2, "y"), str(3, "first"), str(4, "Op"), str(7, "com.example"),
			attribute(str(1, "i"), num(3, 5), num(20, 2)), attribute(str(1, "old"), num(3, 6)),
			attribute(str(1, "ints"), num(8, 1), ld(8, []byte{2, 3}), num(20, 7)),
			attribute(str(1, "none"), num(20, 7)), attribute(str(1, "missing"), num(20, 5)),
			attribute(str(1, "texts"), str(9, "a"), str(9, ""), num(20, 8)),
			attribute(str(1, "t"), ld(5, str(8, "value")), num(20, 4)),
			attribute(str(1, "g"), ld(6, sub), num(20, 5))),
		ld(1, num(7, 9)))
	g, n, err := decode(t, &testDialect, b, 1<<20)
	expect.OK(t, err)
	expect.Equal(t, []string{`initializer "main" at 7, true`}, n.calls[:1])
	expect.Equal(t, 3, len(n.calls))
	expect.Equal(t, []schema.ValueInfo{
		{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: 3}, {Size: schema.DynamicDim, Symbol: "n"}, {Size: schema.DynamicDim}}},
		{Name: "odd", Code: "77", Dims: []schema.Dim{}}, {Name: "untyped"},
	}, g.Inputs)
	expect.Equal(t, []schema.ValueInfo{{Name: "y"}}, g.Outputs)
	first := g.Nodes[0]
	expect.Equal(t, []string{"g", "first", "Op", "com.example", ""}, []string{g.Name, first.Name, first.Op, first.Domain, g.Nodes[1].Domain})
	expect.Equal(t, []string{"x", ""}, first.Inputs)
	values := map[string]any{}
	for _, a := range first.Attributes[:6] {
		values[a.Name] = a.Value
	}
	expect.Equal(t, map[string]any{"i": int64(5), "old": int64(6), "ints": []int64{1, 2, 3}, "none": []int64{}, "missing": nil, "texts": []string{"a", ""}}, values)
	inner, _ := first.Attributes[7].Value.(*schema.Graph)
	expect.Equal(t, []string{"w"}, inner.Initializers)
}

// TestRefused: errors of what messages mean, at the field that they are about.
func TestRefused(t *testing.T) {
	merges := testDialect
	merges.Merges = true
	unique := testDialect
	unique.UniqueOutputs = true
	sparse := testDialect
	sparse.Sparse = tensorT
	twice := ld(1, ld(5, ld(5, str(8, "b")), ld(5, str(8, "ad"))))
	for _, tt := range []struct {
		name string
		d    *Dialect
		b    []byte
		most int64
		path string
		at   int64
		err  error
	}{
		{"inputs of one name", &testDialect, cat(value("x", 1), value("x", 1)), 1 << 20, "input", 0, tensor.ErrCorrupt},
		{"outputs of one name", &unique, cat(ld(12), ld(12)), 1 << 20, "output", 0, tensor.ErrCorrupt},
		{"attributes of one name", &testDialect, cat(ld(1), ld(1, ld(5, str(1, "a")), ld(5, str(1, "a")))), 1 << 20, "node[1].attribute", 2, tensor.ErrCorrupt},
		{"initializers of a subgraph", &testDialect, ld(1, ld(5, ld(6, ld(5), ld(5)))), 1 << 20, "node[0].attribute[0].g.initializer", 4, tensor.ErrCorrupt},
		{"two tensors", &testDialect, twice, 1 << 20, "node[0].attribute[0].t", 9, tensor.ErrCorrupt},
		{"two tensors that are one", &merges, twice, 1 << 20, "node[0].attribute[0].t.name", 2, errBad},
		{"a tensor", &testDialect, ld(1, ld(5, ld(5, str(8, "bad")))), 1 << 20, "node[0].attribute[0].t.name", 4, errBad},
		{"a tensor of a list", &testDialect, ld(1, ld(5, ld(10), ld(10, str(8, "bad")))), 1 << 20, "node[0].attribute[0].tensors[1].name", 6, errBad},
		{"memory for nodes", &testDialect, cat(str(2, "g"), ld(1), ld(1)), 2*nodeBytes - 1, "node[0]", 3, tensor.ErrLimit},
		{"memory for numbers", &testDialect, ld(1, ld(5, ld(8, make([]byte, 100)))), 999, "node[0].attribute[0].ints", 4, tensor.ErrLimit},
		{"memory for a graph", &testDialect, ld(1, ld(5, ld(6))), nodeBytes + attributeBytes + graphBytes - 1, "node[0].attribute[0].g", 4, tensor.ErrLimit},
		{"a sparse tensor", &sparse, ld(15), 1 << 20, "", -1, errBad},
	} {
		_, _, err := decode(t, tt.d, tt.b, tt.most)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
			continue
		}
		var e *messages.Error
		if !errors.As(err, &e) {
			expect.Equal(t, int64(-1), tt.at)
			continue
		}
		if path := table.Path(graphT, string(tt.b), e); path != tt.path || e.At != tt.at {
			t.Errorf("%s: %q at %d, want %q at %d", tt.name, path, e.At, tt.path, tt.at)
		}
	}
}

// TestAppendGraph: what is written is what was decoded.
func TestAppendGraph(t *testing.T) {
	inner := &schema.Graph{Name: "inner", Initializers: []string{}}
	want := &schema.Graph{
		Name: "g", Initializers: []string{},
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: 2}, {Size: schema.DynamicDim, Symbol: "n"}}}},
		Outputs: []schema.ValueInfo{{Name: "y"}, {Name: "z", Dims: []schema.Dim{}}},
		Nodes: []schema.Node{{
			Name: "n", Op: "Op", Domain: "d", Inputs: []string{"x", ""}, Outputs: []string{"y"},
			Attributes: []schema.Attribute{
				{Name: "i", Value: int64(7)}, {Name: "f", Value: float32(0.5)}, {Name: "s", Value: "text"}, {Name: "zero", Value: int64(0)},
				{Name: "is", Value: []int64{1, -1}}, {Name: "fs", Value: []float32{1}}, {Name: "ss", Value: []string{"", "a"}},
				{Name: "g", Value: inner}, {Name: "gs", Value: []*schema.Graph{inner}}, {Name: "nothing"},
			},
		}},
	}
	b, err := testDialect.AppendGraph(nil, want, nil)
	expect.OK(t, err)
	got, _, err := decode(t, &testDialect, b, 1<<20)
	expect.OK(t, err)
	expect.Equal(t, want, got)
	if !testDialect.SameNodes(want, got) || testDialect.SameNodes(want, inner) || testDialect.SameNodes(nil, got) {
		t.Error("graphs that are the same differ, or others do not")
	}
}

// TestKinds: native fields are counted by name, wherever initializers are.
func TestKinds(t *testing.T) {
	graph := func(first, second []byte) []byte {
		return cat(str(10, "doc"), num(99, 1), first, second, ld(1, ld(5, ld(6, ld(5, str(8, "w"))))))
	}
	a, b := ld(5, str(8, "a"), num(99, 1)), ld(5, str(8, "b"), num(99, 2))
	kinds := testDialect.Kinds(graphT, messages.Outermost(string(graph(a, b))), 1)
	var got []string
	for _, k := range kinds {
		got = append(got, fmt.Sprint(k.Name, k.Count, k.Bytes))
	}
	expect.Equal(t, []string{"doc_string1 5", "subgraph_initializers1 5", "unknown_fields3 9"}, got)
	expect.Equal(t, kinds, testDialect.Kinds(graphT, messages.Outermost(string(graph(b, a))), 1))
}
