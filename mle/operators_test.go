package mle

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// opTables has the two tables of operator codes in the package documentation.
var opTables = map[uint32]map[uint16]string{
	1: {1: "Linear", 2: "ReLU", 3: "GELU", 4: "Softmax", 5: "LayerNorm", 6: "MatMul", 7: "Add", 8: "Mul", 9: "Conv2D", 10: "MaxPool2D",
		11: "BatchNorm", 12: "Dropout", 13: "Embedding", 14: "Attention", 26: "DecisionTree", 27: "TreeEnsemble",
		28: "SVM", 29: "NaiveBayes", 30: "KNN", 31: "Clustering", 32: "Decomposition"},
	2: {1: "Linear", 2: "ReLU", 3: "GELU", 4: "Softmax", 5: "LayerNorm", 6: "MatMul", 7: "Add", 8: "Mul", 9: "Conv2D", 10: "MaxPool2D",
		11: "BatchNorm", 12: "Dropout", 13: "Embedding", 14: "Attention", 15: "AvgPool2D", 16: "Conv1D", 17: "MaxPool1D",
		18: "AvgPool1D", 19: "Flatten", 20: "Reshape", 21: "Transpose", 22: "Concat", 23: "Split", 24: "Slice", 25: "Pad",
		26: "DecisionTree", 27: "TreeEnsemble", 28: "GradientBoosting", 29: "SVM", 30: "NaiveBayes", 31: "KNN", 32: "Clustering",
		33: "DBSCAN", 34: "Decomposition", 35: "TransformerBlock", 36: "MultiHeadAttention", 37: "PositionalEncoding", 38: "CrossAttention"},
}

// nameOfCode returns the name of a code, or an unknown code in decimal.
func nameOfCode(version uint32, code uint16) string {
	if name := opTables[version][code]; name != "" {
		return name
	}
	return strconv.Itoa(int(code))
}

// opFile returns a file with one node.
func opFile(version uint32, code uint16) *gFile {
	g := plainGolden()
	g.version, g.nodes[0].op = version, code
	return g
}

// TestConversionRenumbers checks that an operator keeps its meaning between versions,
// through the IR and through the neutral graph, and that an operator that a version lacks
// is refused.
func TestConversionRenumbers(t *testing.T) {
	for from := uint32(1); from <= 2; from++ {
		for to := uint32(1); to <= 2; to++ {
			back := map[string]uint16{}
			for code, name := range opTables[to] {
				back[name] = code
			}
			for code := range uint16(45) {
				want, ok := back[nameOfCode(from, code)]
				if opTables[from][code] == "" {
					want, ok = code, opTables[to][code] == ""
				}
				f := mustOpen(t, opFile(from, code).build(), nil)
				for _, withIR := range []bool{false, true} {
					b, err := rewritten(t, f, int(to), withIR)
					if !ok {
						var e *tensor.Error
						if !errors.Is(err, format.ErrUnsupported) || !errors.As(err, &e) || !strings.Contains(e.Field, "nodes[0]") && e.Field != "node 0" {
							t.Errorf("version %d to %d: code %d: %v, want a refusal of node 0", from, to, code, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("version %d to %d: code %d: %v", from, to, code, err)
						continue
					}
					if got := firstOp(b); got != want {
						t.Errorf("version %d to %d, IR %v: code %d became %d, want %d", from, to, withIR, code, got, want)
					}
				}
			}
		}
	}
}

// rewritten returns a copy of the file, written from its IR or the neutral graph.
func rewritten(t *testing.T, f *File, version int, withIR bool) ([]byte, error) {
	t.Helper()
	p, err := f.Schema()
	expect.OK(t, err)
	own := Format{Version: version}
	if withIR {
		own.IR = f.IR()
	}
	var out bytes.Buffer
	w, err := newWriter(&out, p, &format.WriteOptions{Format: own})
	if err != nil {
		return nil, err
	}
	expect.OK(t, w.WriteModel(f.Model))
	expect.OK(t, w.Close())
	return out.Bytes(), nil
}

// firstOp returns the operator code of the first node in a file's bytes.
func firstOp(b []byte) uint16 {
	at := 24
	if le.Uint32(b[4:]) == 2 {
		at = 32
	}
	graph := b[le.Uint64(b[at:]):]
	return le.Uint16(graph[144+56*int(le.Uint32(graph[4:])):])
}

// operandSchema returns a schema with constants a, b and c and a graph of the given inputs and nodes.
func operandSchema(inputs []string, nodes ...schema.Node) *schema.Schema {
	p := &schema.Schema{Graph: &schema.Graph{Nodes: nodes}}
	for _, name := range []string{"a", "b", "c"} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1}})
	}
	for _, name := range inputs {
		p.Graph.Inputs = append(p.Graph.Inputs, schema.ValueInfo{Name: name, DType: tensor.Float32, Dims: schema.FixedDims(1)})
	}
	return p
}

// TestOperandsAndParams checks which inputs of a node become params: the trailing
// constants, but no graph inputs, and none of MatMul, Add, Mul and Attention.
func TestOperandsAndParams(t *testing.T) {
	for _, tt := range []struct {
		name           string
		op             string
		graphInputs    []string
		takes          []string
		inputs, params []string
	}{
		{"Linear", "Linear", nil, []string{"x", "a", "b"}, []string{"x"}, []string{"a", "b"}},
		{"a constant before a value", "Concat", nil, []string{"a", "x", "b"}, []string{"a", "x"}, []string{"b"}},
		{"constants alone", "Concat", nil, []string{"a", "b"}, nil, []string{"a", "b"}},
		{"an operator that is not known", "4711", nil, []string{"x", "c"}, []string{"x"}, []string{"c"}},
		{"MatMul", "MatMul", nil, []string{"x", "a"}, []string{"x", "a"}, nil},
		{"Add", "Add", nil, []string{"a", "b"}, []string{"a", "b"}, nil},
		{"Mul", "Mul", nil, []string{"x", "b"}, []string{"x", "b"}, nil},
		{"Attention", "Attention", nil, []string{"x", "b", "c"}, []string{"x", "b", "c"}, nil},
		{"MultiHeadAttention", "MultiHeadAttention", nil, []string{"x", "b", "c"}, []string{"x"}, []string{"b", "c"}},
		{"a graph input with data", "Linear", []string{"a"}, []string{"a", "b", "c"}, []string{"a"}, []string{"b", "c"}},
		{"a graph input with data at the end", "Linear", []string{"c"}, []string{"x", "b", "c"}, []string{"x", "b", "c"}, nil},
	} {
		for _, version := range []int{1, 2} {
			if version == 1 && (tt.op == "Concat" || tt.op == "MultiHeadAttention") {
				continue
			}
			p := operandSchema(tt.graphInputs, schema.Node{Op: tt.op, Inputs: tt.takes, Outputs: []string{"y"}})
			f := mustOpen(t, written(t, p, &format.WriteOptions{Format: Format{Version: version}}), nil)
			first := nodeOperands(f)[0]
			if diff := cmp.Diff([][]string{tt.inputs, tt.params}, [][]string{first.Inputs, first.Params}, equateEmpty); diff != "" {
				t.Errorf("%s, version %d: %s", tt.name, version, diff)
			}
			g, err := f.Graph()
			if diff := cmp.Diff(p.Graph, g, equateEmpty); err != nil || diff != "" {
				t.Errorf("%s, version %d: %v %s", tt.name, version, err, diff)
			}
		}
	}
}

// TestNumberingIsThatOfExporters checks that ids are assigned in order of appearance and
// that tensors keep their order.
func TestNumberingIsThatOfExporters(t *testing.T) {
	p := operandSchema(nil,
		schema.Node{Op: "Linear", Inputs: []string{"x", "a", "c"}, Outputs: []string{"h"}},
		schema.Node{Op: "ReLU", Inputs: []string{"h"}, Outputs: []string{"y"}})
	p.Graph.Inputs = []schema.ValueInfo{{Name: "x"}, {Name: "x"}}
	p.Graph.Outputs = []schema.ValueInfo{{Name: "y", DType: tensor.Int8, Dims: schema.FixedDims(7)}, {Name: "b"}}
	p.Tensors = append(p.Tensors, tensor.Info{Name: "unused", DType: tensor.Int8, Shape: tensor.Shape{3}})
	f := mustOpen(t, written(t, p, nil), nil)
	all := f.IR().Tensors
	var got []string
	for _, d := range all {
		got = append(got, d.Name)
	}
	expect.Equal(t, []string{"x", "a", "b", "c", "h", "y", "unused"}, got)
	if y := all[5]; y.DType != tensor.Int8 || !y.Shape.Equal(tensor.Shape{7}) || y.Constant() {
		t.Errorf("the output is %+v", y)
	}
}

// operands has the inputs, params and outputs of a node.
type operands struct {
	Op                      string
	Inputs, Params, Outputs []string
}

func nodeOperands(f *File) (all []operands) {
	names := f.f.namer()
	for _, n := range f.IR().Nodes {
		all = append(all, operands{n.Op.String(), names.names(n.Inputs), names.names(n.Params), names.names(n.Outputs)})
	}
	return all
}
