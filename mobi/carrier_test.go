package mobi

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// text is the value of a string parameter.
func text(s string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
}

// carrier is an operator that keeps names, with what the metadata was given.
func carrier(in []uint32, params ...[]byte) []byte {
	return op(0x574D, in, nil, append([][]byte{param("fields", 7, text("name flags")...)}, params...)...)
}

func named(input int, name string) []byte {
	return param("input"+strconv.Itoa(input)+"_name", 7, text(name)...)
}

// restored opens a file and returns its plan as it was before it had numbers.
func restored(t *testing.T, b []byte) *format.Plan {
	t.Helper()
	f := openImage(t, b)
	p, err := format.PlanOf(f.Model())
	if err != nil {
		t.Fatal(err)
	}
	f.f.Restore(p)
	return p
}

func namesOf(p *format.Plan) (names []string) {
	for _, t := range p.Tensors {
		names = append(names, t.Name)
	}
	return names
}

// TestRestore: names come back to tensors and edges, and the operator that kept them
// is gone, with the metadata that only MOBI asks for.
func TestRestore(t *testing.T) {
	p := restored(t, with(func(m *image) {
		m.ops = append(m.ops, carrier([]uint32{9, 7}, named(0, "b"), named(1, "fc/w")))
	}))
	if d := cmp.Diff([]string{"b", "fc/w"}, namesOf(p)); d != "" {
		t.Error(d)
	}
	var edges [][]string
	for _, n := range p.Graph.Nodes {
		edges = append(edges, n.Inputs)
	}
	if d := cmp.Diff([][]string{{"x", "fc/w"}, {"41", "b"}}, edges); d != "" {
		t.Error(d)
	}
	var keys []string
	for _, e := range p.Metadata {
		keys = append(keys, e.Key)
	}
	if d := cmp.Diff([]string{"name", "flags"}, keys); d != "" {
		t.Error(d)
	}
	p = restored(t, (&image{records: [][]byte{recordOf(3, 2, []uint64{1}, []byte{5})}, ops: [][]byte{carrier([]uint32{3}, named(0, "w"))}}).bytes())
	if p.Graph != nil {
		t.Errorf("graph of nothing: %+v", p.Graph)
	}
}

// TestRestoreRefused: what no writer of ours makes leaves everything as it is.
func TestRestoreRefused(t *testing.T) {
	for name, op := range map[string][]byte{
		"another type":        op(0x574E, []uint32{9}, nil, param("fields", 7, text("")...), named(0, "b")),
		"output":              op(0x574D, []uint32{9}, []uint32{60}, param("fields", 7, text("")...), named(0, "b")),
		"no fields":           op(0x574D, []uint32{9}, nil, named(0, "b")),
		"fields are a number": op(0x574D, []uint32{9}, nil, param("fields", 0, i32s(1)...), named(0, "b")),
		"no constant":         carrier([]uint32{9, 41}, named(0, "b")),
		"same name twice":     carrier([]uint32{9, 7}, named(0, "b"), named(1, "b")),
		"name of another":     carrier([]uint32{9}, named(0, "7")),
		"name of an input":    carrier([]uint32{9}, named(0, "x")),
		"name of an output":   carrier([]uint32{9}, named(0, "y")),
		"name of a value":     carrier([]uint32{9}, named(0, "41")),
	} {
		b := with(func(m *image) { m.ops = append(m.ops, op) })
		want, err := format.PlanOf(openImage(t, b).Model())
		if d := cmp.Diff(want, restored(t, b)); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	for name, param := range map[string][]byte{
		"beyond the inputs": named(1, "b"), "negative": named(-1, "b"), "no number": param("inputx_name", 7, text("b")...),
		"not text": param("input0_name", 0, i32s(1)...), "empty": named(0, ""), "NUL": named(0, "a\x00"),
	} {
		p := restored(t, with(func(m *image) { m.ops = append(m.ops, carrier([]uint32{9}, param)) }))
		if d := cmp.Diff([]string{"9", "7"}, namesOf(p)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestKeepNames: names and the quantization of constants that nothing consumes go into
// an operator of their own; what needs none has none.
func TestKeepNames(t *testing.T) {
	keep := &WriteOptions{WriteOptions: format.WriteOptions{KeepNames: true}}
	q := &tensor.Quantization{Axis: 0, Scales: []float32{0.5, 2}, ZeroPoints: []int32{1}}
	p := &format.Plan{
		Metadata: format.Metadata{{Key: "name", Value: "net"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, 8}, Quant: q}, {Name: "5", DType: tensor.Int8, Shape: tensor.Shape{2, 8}, Quant: q},
			{Name: "6", DType: tensor.Int8, Shape: tensor.Shape{8}},
		},
	}
	f := openImage(t, written(t, p, keep))
	got, err := f.Operators()
	quant := func(i string) []Param {
		return []Param{{"input" + i + "_scale", q.Scales}, {"input" + i + "_zero_point", int32(1)}, {"input" + i + "_axis", int32(0)}}
	}
	want := []Operator{{Type: 0x574D, Inputs: []uint32{0, 5},
		Params: append(append([]Param{{"fields", "name"}, {"input0_name", "w"}}, quant("0")...), quant("1")...)}}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if d := cmp.Diff(q, f.At(0).Info().Quant); d != "" {
		t.Error(d)
	}
	p.Tensors = p.Tensors[2:]
	if ops, err := openImage(t, written(t, p, keep)).Operators(); len(ops) > 0 || err != nil {
		t.Errorf("operators for nothing: %v, %v", ops, err)
	}
}

// TestKeepManyNames: an operator has at most 65,535 inputs and parameters.
func TestKeepManyNames(t *testing.T) {
	p := &format.Plan{}
	q := &tensor.Quantization{Axis: 0, Scales: []float32{1}, ZeroPoints: []int32{1}}
	for i := range 8193 {
		p.Tensors = append(p.Tensors, tensor.Info{Name: "t" + strconv.Itoa(i), DType: tensor.Int8, Shape: tensor.Shape{1}, Quant: q})
	}
	b := written(t, p, &WriteOptions{WriteOptions: format.WriteOptions{KeepNames: true}})
	if ops, err := openImage(t, b).Operators(); len(ops) != 2 || err != nil {
		t.Errorf("%d operators, %v", len(ops), err)
	}
	if d := cmp.Diff(namesOf(p), namesOf(restored(t, b))); d != "" {
		t.Error(d)
	}
}
