package mobi

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestGraphMapping checks that inputs and outputs are matched with ids only if the
// numbers are equal.
func TestGraphMapping(t *testing.T) {
	type edges [][2][]string // inputs and outputs of each node
	x, y := spec("x", 0), spec("y", 0)
	for _, c := range []struct {
		name    string
		in, out [][]byte
		ops     [][]byte
		want    edges
	}{
		{"ascending, not as they appear", [][]byte{x, y}, nil,
			[][]byte{op(0, []uint32{30, 20}, nil), op(0, []uint32{20, 7}, nil)},
			edges{{{"y", "x"}, {}}, {{"x", "7"}, {}}}},
		{"one candidate too many", [][]byte{x}, [][]byte{y},
			[][]byte{op(0, []uint32{30, 20}, []uint32{1})}, edges{{{"30", "20"}, {"y"}}}},
		{"one too few", [][]byte{x, y}, nil,
			[][]byte{op(0, []uint32{30}, nil)}, edges{{{"30"}, {}}}},
		{"outputs that are consumed do not count", [][]byte{x}, [][]byte{y},
			[][]byte{op(0, []uint32{30}, []uint32{1, 2}), op(0, []uint32{1}, []uint32{1})}, edges{{{"x"}, {"1", "y"}}, {{"1"}, {"1"}}}},
		{"outputs of two operators count once", nil, [][]byte{y},
			[][]byte{op(0, nil, []uint32{5, 5}), op(0, nil, []uint32{5})}, edges{{{}, {"y", "y"}}, {{}, {"y"}}}},
		{"consumed before it is made", [][]byte{x}, [][]byte{y},
			[][]byte{op(0, []uint32{3, 4}, []uint32{5}), op(0, nil, []uint32{4})}, edges{{{"x", "4"}, {"y"}}, {{}, {"4"}}}},
		{"a produced constant is an output", nil, [][]byte{y},
			[][]byte{op(0, nil, []uint32{7})}, edges{{{}, {"y"}}}},
		{"nothing to map", nil, nil, [][]byte{op(0, []uint32{9}, []uint32{9})}, edges{{{"9"}, {"9"}}}},
		{"largest id", [][]byte{x}, nil, [][]byte{op(0, []uint32{math.MaxUint32}, []uint32{0})}, edges{{{"x"}, {"0"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := with(func(m *image) { m.inputs, m.outputs, m.ops = c.in, c.out, c.ops })
			g, err := openImage(t, b).Graph()
			expect.OK(t, err)
			var got edges
			for _, n := range g.Nodes {
				got = append(got, [2][]string{n.Inputs, n.Outputs})
			}
			expect.Equal(t, c.want, got)
		})
	}
}

// TestNumbering checks the ids that a neutral graph gets.
func TestNumbering(t *testing.T) {
	p := &schema.Schema{
		Tensors: []tensor.Info{{Name: "1", DType: tensor.Int8}, {Name: "w", DType: tensor.Int8}},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "b", Dims: []schema.Dim{}}, {Name: "a", Dims: []schema.Dim{}}},
			Outputs: []schema.ValueInfo{{Name: "out2", Dims: []schema.Dim{}}, {Name: "out1", Dims: []schema.Dim{}}},
			Nodes: []schema.Node{
				{Op: "Add", Inputs: []string{"a", "w"}, Outputs: []string{"t", "out1"}},
				{Op: "Add", Inputs: []string{"t", "b", "1"}, Outputs: []string{"3"}},
				{Op: "Add", Inputs: []string{"3"}, Outputs: []string{"out2"}},
			},
		},
	}
	f := openImage(t, written(t, p, &format.WriteOptions{AcceptLoss: []string{"name"}}))
	ops := f.Operators()
	want := []Operator{
		// 1 and 3 are taken; w is 0, b 2, a 4, t 5, out2 6, out1 7.
		{Type: Add, Inputs: []uint32{4, 0}, Outputs: []uint32{5, 7}},
		{Type: Add, Inputs: []uint32{5, 2, 1}, Outputs: []uint32{3}},
		{Type: Add, Inputs: []uint32{3}, Outputs: []uint32{6}},
	}
	expect.Equal(t, want, ops)
	if _, err := f.Tensor("0"); err != nil {
		t.Errorf("w is not constant 0: %v", err)
	}
}

func schemaOf(t *testing.T, f *File) *schema.Schema {
	t.Helper()
	p, err := f.Schema()
	expect.OK(t, err)
	return p
}

// TestGraphRewritten checks that a file whose graph a neutral graph cannot fully
// hold keeps its meaning when rewritten.
func TestGraphRewritten(t *testing.T) {
	for name, b := range map[string][]byte{
		"small":           small().bytes(),
		"nothing mapped":  with(func(m *image) { m.ops = append(m.ops, op(77, []uint32{1000, 1001}, []uint32{7})) }),
		"unsound":         with(func(m *image) { m.ops = append(m.ops, op(0, []uint32{7}, nil, param("input0_scale", 2, f32s(5)...))) }),
		"flags as stored": with(func(m *image) { m.flags = 0 }),
		"enormous dims":   with(func(m *image) { m.inputs = [][]byte{spec("x", 0, 1<<63)} }),
	} {
		t.Run(name, func(t *testing.T) {
			f := openImage(t, b)
			want := schemaOf(t, f)
			var out bytes.Buffer
			w, err := newWriter(&out, want, inMemory(nil))
			expect.OK(t, err)
			expect.OK(t, w.WriteModel(f.Model))
			expect.OK(t, w.Close())
			got := schemaOf(t, openImage(t, out.Bytes()))
			expect.Equal(t, want, got, cmpopts.IgnoreFields(tensor.Info{}, "Offset"))
		})
	}
}

// TestIDs: names that are numbers keep them, and the others get the lowest free ids.
func TestIDs(t *testing.T) {
	values := func(names ...string) (list []schema.ValueInfo) {
		for _, s := range names {
			list = append(list, schema.ValueInfo{Name: s})
		}
		return list
	}
	for name, tt := range map[string]struct {
		tensors []string
		g       *schema.Graph
		ids     []uint32
		byName  map[string]uint32
	}{
		"numbers":              {[]string{"7", "0"}, nil, []uint32{7, 0}, map[string]uint32{}},
		"names":                {[]string{"w", "1", "b", "0", "c"}, &schema.Graph{Name: "empty"}, []uint32{2, 1, 3, 0, 4}, map[string]uint32{}},
		"a constant as output": {[]string{"5"}, &schema.Graph{Outputs: values("5")}, []uint32{5}, map[string]uint32{"5": 5}},
		"edges": {
			[]string{"w", "3"},
			&schema.Graph{Inputs: values("0"), Outputs: values("y"), Nodes: []schema.Node{
				{Inputs: []string{"0", "w"}, Outputs: []string{"1"}}, {Inputs: []string{"1", "3"}, Outputs: []string{"y"}},
			}},
			[]uint32{0, 3}, map[string]uint32{"w": 0, "3": 3, "0": 2, "1": 1, "y": 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var tensors []tensor.Info
			for _, s := range tt.tensors {
				tensors = append(tensors, tensor.Info{Name: s})
			}
			n := newNumbering(tensors, tt.g)
			expect.Equal(t, tt.ids, n.ids)
			expect.Equal(t, tt.byName, n.byName)
		})
	}
}
