package convert

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/contract"
	"github.com/weightmap/weightmap/tensor"
)

// silent is a format of another module that says nothing of its operators.
type silent struct{ driver.Driver }

func (silent) Describe() driver.Description { return driver.Description{Name: "silent"} }

// graphless is one that has no graphs.
type graphless struct{ silent }

func (graphless) Losses(p *plan.Plan, _ *plan.WriteOptions, l *plan.LossList) {
	l.TensorsOnly(p, "graphless")
}

// spoken is one with a vocabulary.
type spoken struct{ silent }

func (spoken) Describe() driver.Description { return driver.Description{Name: "spoken"} }

func (spoken) Operators() []contract.Operator {
	return []contract.Operator{
		{Name: "convolution", ONNX: "Conv", Rank: 4, Inputs: 3, Attributes: []contract.Attribute{
			{ONNX: "pads", Names: []string{"top", "left", "bottom", "right"}, Value: int64(0), Default: []int64{0, 0, 0, 0}},
			{ONNX: "group", Names: []string{"groups", "cardinality"}, Alias: true, Value: int64(0), Default: int64(1)},
		}},
		{Name: "dense", ONNX: "Gemm", Implied: []plan.Attribute{{Name: "transB", Value: int64(0)}}},
		{Name: "strange", ONNX: "NoSuchOperator"},
	}
}

// own is one whose graphs are in ONNX's operators.
type own struct{ silent }

func (own) Operators() []contract.Operator { return nil }

// vocabularyPlan has a convolution of an image, with padding.
func vocabularyPlan(t *testing.T, op string, attrs ...format.Attribute) (*format.Plan, []tensor.View) {
	t.Helper()
	w, err := tensor.FromBytes("w", tensor.Float32, tensor.Shape{1, 1, 2, 2}, make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	return &format.Plan{Tensors: []tensor.Info{w.Info()}, Graph: &format.Graph{
		Inputs: []format.ValueInfo{{Name: "x", Dims: format.FixedDims(1, 1, 4, 4)}}, Outputs: []format.ValueInfo{{Name: "y"}},
		Nodes: []format.Node{{Name: "first", Op: op, Inputs: []string{"x", "w"}, Outputs: []string{"y"}, Attributes: attrs}},
	}}, []tensor.View{w}
}

// TestVocabularies: a format of another module takes part by saying what its operators mean, and only then.
func TestVocabularies(t *testing.T) {
	pads := format.Attribute{Name: "pads", Value: []int64{1, 2, 3, 4}}
	for _, tt := range []struct {
		name     string
		from, to driver.Driver
		op       string
		attrs    []format.Attribute
		want     string // the node, or what is refused
	}{
		{"to a format that is silent", own{}, silent{}, "Conv", nil, `refused: node "first": unsupported: the format silent does not say what its operators mean`},
		{"from one", silent{}, own{}, "Conv", nil, `refused: node "first": unsupported: the format silent does not say what its operators mean`},
		{"to a format without graphs", own{}, graphless{}, "Conv", nil, "as it is"},
		{"between two with ONNX's operators", own{}, own{}, "Anything", nil, "as it is"},
		{"to a vocabulary", own{}, spoken{}, "Conv", []format.Attribute{pads}, "convolution(x w y_bias) top=1 left=2 bottom=3 right=4 groups=1"},
		{"padding at the end", own{}, spoken{}, "Conv", []format.Attribute{{Name: "auto_pad", Value: "SAME_UPPER"}}, "convolution(x w y_bias) top=0 left=0 bottom=1 right=1 groups=1"},
		{"padding at the start", own{}, spoken{}, "Conv", []format.Attribute{{Name: "auto_pad", Value: "SAME_LOWER"}}, "convolution(x w y_bias) top=1 left=1 bottom=0 right=0 groups=1"},
		{"from a vocabulary", spoken{}, own{}, "convolution", []format.Attribute{{Name: "left", Value: int64(2)}, {Name: "cardinality", Value: int64(1)}}, "Conv(x w) kernel_shape=[2 2] pads=[0 2 0 0]"},
		{"an attribute of another type", spoken{}, own{}, "convolution", []format.Attribute{{Name: "left", Value: "2"}}, `refused: node "first": unsupported: attribute "left" is a string`},
		{"an attribute that is not in it", spoken{}, own{}, "convolution", []format.Attribute{{Name: "activation", Value: "relu"}}, `refused: node "first": unsupported: attribute "activation"`},
		{"an operator that is not in it", spoken{}, own{}, "pooling", nil, `refused: node "first": unsupported: its meaning is not known to other formats`},
		{"a meaning that is none", spoken{}, own{}, "strange", nil, `refused: node "first": unsupported: NoSuchOperator, which it means, is not known`},
		{"an attribute that is implied", own{}, spoken{}, "Gemm", []format.Attribute{{Name: "transB", Value: int64(1)}}, `refused: node "first": unsupported: dense has transB 0, not 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, views := vocabularyPlan(t, tt.op, tt.attrs...)
			x := newTranslator(p, views, tt.to.Describe().Name)
			x.run(tt.from, tt.to)
			got := "as it is"
			if len(x.gaps) > 0 {
				if got = "refused: " + x.gaps[0].err.Error(); !errors.Is(x.gaps[0].err, format.ErrUnsupported) || x.gaps[0].part != "nodes[0] ("+tt.op+")" {
					t.Errorf("%s: %v", x.gaps[0].part, x.gaps[0].err)
				}
			} else if len(x.nodes) > 0 {
				n := x.nodes[0]
				got = n.Op + "(" + strings.Join(n.Inputs, " ") + ")"
				for _, a := range n.Attributes {
					got += " " + a.Name + "=" + fmt.Sprint(a.Value)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestBiasOfClaims: weights without elements do not make a bias of terabytes.
func TestBiasOfClaims(t *testing.T) {
	w, err := tensor.FromBytes("w", tensor.Float32, tensor.Shape{1 << 40, 1, 0, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := vocabularyPlan(t, "Conv")
	p.Tensors = []tensor.Info{w.Info()}
	x := newTranslator(p, []tensor.View{w}, "spoken")
	if x.run(own{}, spoken{}); len(x.gaps) != 1 || !strings.Contains(x.gaps[0].err.Error(), "weights of shape") {
		t.Errorf("%+v", x.gaps)
	}
}
