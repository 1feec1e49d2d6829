package mobi

import (
	"errors"
	"io"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// text returns the encoded value of a string parameter.
func text(s string) []byte {
	return le(uint32(len(s)), s)
}

// nameOp returns an operator that stores names and the keys of the metadata.
func nameOp(in []uint32, params ...[]byte) []byte {
	return op(0x574D, in, nil, append([][]byte{param("fields", 7, text("name flags")...)}, params...)...)
}

func named(input int, name string) []byte {
	return param("input"+strconv.Itoa(input)+"_name", 7, text(name)...)
}

// restored opens a file and returns its schema with the original names.
func restored(t *testing.T, b []byte) *schema.Schema {
	t.Helper()
	f := openImage(t, b)
	p := schemaOf(t, f)
	f.f.restore(p)
	return p
}

func namesOf(p *schema.Schema) (names []string) {
	for _, t := range p.Tensors {
		names = append(names, t.Name)
	}
	return names
}

// TestRestoreRefused checks that names our writer never makes change nothing.
func TestRestoreRefused(t *testing.T) {
	for name, op := range map[string][]byte{
		"two names":         op(10, []uint32{9, 9}, nil, named(0, "b"), named(1, "c")),
		"same name twice":   op(10, []uint32{9, 7}, nil, named(0, "b"), named(1, "b")),
		"name of another":   op(10, []uint32{9}, nil, named(0, "7")),
		"name of an input":  op(10, []uint32{9}, nil, named(0, "x")),
		"name of a value":   op(10, []uint32{9}, nil, named(0, "41")),
		"beyond the inputs": op(10, []uint32{9}, nil, named(1, "b")),
		"negative":          op(10, []uint32{9}, nil, named(-1, "b")),
		"no constant":       op(10, []uint32{41}, nil, named(0, "b")),
		"no number":         op(10, []uint32{9}, nil, param("inputx_name", 7, text("b")...)),
		"no input":          op(10, []uint32{9}, nil, param("0_name", 7, text("b")...)),
		"not text":          op(10, []uint32{9}, nil, param("input0_name", 0, i32s(1)...)),
		"empty":             op(10, []uint32{9}, nil, named(0, "")),
		"NUL":               op(10, []uint32{9}, nil, named(0, "a\x00")),
	} {
		b := with(func(m *image) { m.ops = append(m.ops, op) })
		if d := cmp.Diff(schemaOf(t, openImage(t, b)), restored(t, b)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, op := range map[string][]byte{
		"another type":        op(0x574E, []uint32{3}, nil, param("fields", 7, text("")...)),
		"output":              op(0x574D, []uint32{3}, []uint32{60}, param("fields", 7, text("")...)),
		"no fields":           op(0x574D, []uint32{3}, nil),
		"fields are a number": op(0x574D, []uint32{3}, nil, param("fields", 0, i32s(1)...)),
		"no constant":         nameOp([]uint32{3, 41}),
	} {
		m := image{records: [][]byte{recordOf(3, 2, []uint64{1}, []byte{5})}, ops: [][]byte{nameOp([]uint32{3}), op}}
		if p := restored(t, m.bytes()); p.Graph == nil || len(p.Graph.Nodes) != 2 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestKeepNamesInGraph checks that a name goes to the first operator that consumes
// the constant, and is lost if there is none.
func TestKeepNamesInGraph(t *testing.T) {
	p := &schema.Schema{
		Tensors: []tensor.Info{{Name: "a", DType: tensor.Int8}, {Name: "7", DType: tensor.Int8}, {Name: "b", DType: tensor.Int8}, {Name: "alone", DType: tensor.Int8}},
		Graph: &schema.Graph{Nodes: []schema.Node{
			{Op: "Add", Inputs: []string{"a", "7"}, Outputs: []string{"1"}}, {Op: "Add", Inputs: []string{"a", "b", "b"}, Outputs: []string{"2"}},
		}},
	}
	o := &format.WriteOptions{KeepNames: true, AcceptLoss: []string{"name:alone"}}
	b := written(t, p, o)
	ops := openImage(t, b).Operators()
	want := [][]Param{{{"input0_name", "a"}}, {{"input1_name", "b"}}}
	if d := cmp.Diff(want, [][]Param{ops[0].Params, ops[1].Params}); d != "" || len(ops) != 2 {
		t.Error(d)
	}
	expect.Equal(t, []string{"a", "7", "b", "4"}, namesOf(restored(t, b)))
	o.AcceptLoss = nil
	var refused *schema.LossError
	if _, err := newWriter(io.Discard, p, inMemory(o)); !errors.As(err, &refused) || len(refused.Losses) != 1 || refused.Losses[0].Item() != "name:alone" {
		t.Error(err)
	}
}

// TestKeepNames checks that, without a graph, an added operator holds names and
// quantization, and that no operator is added without need.
func TestKeepNames(t *testing.T) {
	keep := &format.WriteOptions{KeepNames: true}
	q := &tensor.Quantization{Axis: 0, Scales: []float32{0.5, 2}, ZeroPoints: []int32{1}}
	p := &schema.Schema{
		Metadata: schema.Metadata{{Key: "name", Value: "net"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, 8}, Quant: q}, {Name: "5", DType: tensor.Int8, Shape: tensor.Shape{2, 8}, Quant: q},
			{Name: "6", DType: tensor.Int8, Shape: tensor.Shape{8}},
		},
	}
	f := openImage(t, written(t, p, keep))
	got := f.Operators()
	quant := func(i string) []Param {
		return []Param{{"input" + i + "_scale", q.Scales}, {"input" + i + "_zero_point", int32(1)}, {"input" + i + "_axis", int32(0)}}
	}
	want := []Operator{{Type: 0x574D, Inputs: []uint32{0, 5},
		Params: append(append([]Param{{"fields", "name"}, {"input0_name", "w"}}, quant("0")...), quant("1")...)}}
	expect.Equal(t, want, got, cmpopts.EquateEmpty())
	expect.Equal(t, q, f.At(0).Info().Quant)
	p.Tensors = p.Tensors[2:]
	if ops := openImage(t, written(t, p, keep)).Operators(); len(ops) > 0 {
		t.Errorf("operators for nothing: %v", ops)
	}
}
