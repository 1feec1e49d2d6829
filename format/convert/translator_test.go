package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	_ "github.com/weightmap/weightmap/format/onnx"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/opsets"
	_ "github.com/weightmap/weightmap/mle"
	_ "github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	_ "github.com/weightmap/weightmap/tsr"
)

// formatOf is the format of a driver.
type formatOf struct{ driver driver.Driver }

// Driver implements format.Format.
func (f formatOf) Driver() driver.Driver { return f.driver }

// silent is a format of another module that says nothing of its operators.
type silent struct{ driver.Driver }

func (silent) Describe() driver.Description { return driver.Description{Name: "silent"} }

// graphless is one that has no graphs.
type graphless struct{ driver.Writer }

func (graphless) Describe() driver.Description { return driver.Description{Name: "silent"} }

func (graphless) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	l.TensorsOnly(p, "graphless")
	return nil
}

// spoken is one with a vocabulary.
type spoken struct{ silent }

func (spoken) Describe() driver.Description { return driver.Description{Name: "spoken"} }

func (spoken) Operators() []driver.Operator {
	return []driver.Operator{
		{Name: "convolution", ONNX: "Conv", Rank: 4, Inputs: 3, Attributes: []driver.Attribute{
			{ONNX: "pads", Names: []string{"top", "left", "bottom", "right"}, Value: int64(0), Default: []int64{0, 0, 0, 0}},
			{ONNX: "group", Names: []string{"groups", "cardinality"}, Alias: true, Value: int64(0), Default: int64(1)},
		}},
		{Name: "dense", ONNX: "Gemm", Attributes: []driver.Attribute{{ONNX: "transB", Default: int64(0)}}},
		{Name: "strange", ONNX: "NoSuchOperator"},
	}
}

// own is one whose graphs are in ONNX's operators.
type own struct{ silent }

func (own) Operators() []driver.Operator { return nil }

// vocabularySchema has a convolution of an image, with padding.
func vocabularySchema(t *testing.T, op string, attrs ...schema.Attribute) (*schema.Schema, []*item) {
	t.Helper()
	w, err := tensor.FromBytes("w", tensor.Float32, tensor.Shape{1, 1, 2, 2}, make([]byte, 16))
	expect.OK(t, err)
	return &schema.Schema{Graph: &schema.Graph{
		Inputs: []schema.ValueInfo{{Name: "x", Dims: schema.FixedDims(1, 1, 4, 4)}}, Outputs: []schema.ValueInfo{{Name: "y"}},
		Nodes: []schema.Node{{Name: "first", Op: op, Inputs: []string{"x", "w"}, Outputs: []string{"y"}, Attributes: attrs}},
	}}, []*item{{from: w, to: w.Info()}}
}

// attributed returns attributes by names and values.
func attributed(list ...any) (all []schema.Attribute) {
	for i := 0; i < len(list); i += 2 {
		all = append(all, schema.Attribute{Name: list[i].(string), Value: list[i+1]})
	}
	return all
}

// TestVocabularies: a format of another module takes part by saying what its operators mean, and only then.
func TestVocabularies(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to driver.Driver
		op       string
		attrs    []schema.Attribute
		want     string // the node, or what is refused
	}{
		{"to a format that is silent", own{}, silent{}, "Conv", nil, `refused: the meaning of silent operators is unknown`},
		{"from one", silent{}, own{}, "Conv", nil, `refused: the meaning of silent operators is unknown`},
		{"to a format without graphs", own{}, graphless{}, "Conv", nil, "as it is"},
		{"between two with ONNX's operators", own{}, own{}, "Anything", nil, "as it is"},
		{"to a vocabulary", own{}, spoken{}, "Conv", attributed("pads", []int64{1, 2, 3, 4}), "convolution(x w y_bias) top=1 left=2 bottom=3 right=4 groups=1"},
		{"padding at the end", own{}, spoken{}, "Conv", attributed("auto_pad", "SAME_UPPER"), "convolution(x w y_bias) top=0 left=0 bottom=1 right=1 groups=1"},
		{"padding at the start", own{}, spoken{}, "Conv", attributed("auto_pad", "SAME_LOWER"), "convolution(x w y_bias) top=1 left=1 bottom=0 right=0 groups=1"},
		{"from a vocabulary", spoken{}, own{}, "convolution", attributed("left", int64(2), "cardinality", int64(1)), "Conv(x w) kernel_shape=[2 2] pads=[0 2 0 0]"},
		{"an attribute of another type", spoken{}, own{}, "convolution", attributed("left", "2"), `refused: attribute "left" is a string`},
		{"an attribute that is not in it", spoken{}, own{}, "convolution", attributed("activation", "relu"), `refused: attribute "activation" is not supported`},
		{"an operator that is not in it", spoken{}, own{}, "pooling", nil, `refused: no other format has this operator`},
		{"a meaning that is none", spoken{}, own{}, "strange", nil, `refused: it stands for NoSuchOperator, which is unknown`},
		{"an attribute that is implied", own{}, spoken{}, "Gemm", attributed("transB", int64(1)), `refused: dense has transB 0, not 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, items := vocabularySchema(t, tt.op, tt.attrs...)
			x := newTranslator(p, items, tt.to.Describe().Name)
			j := &job{target: format.WriteOptions{Format: formatOf{tt.to}}}
			x.run(tt.from, tt.to, j.hasGraphs())
			got := "as it is"
			if len(x.gaps) > 0 {
				if got = strings.Replace(x.gaps[0].err.Error(), `node "first": unsupported:`, "refused:", 1); !errors.Is(x.gaps[0].err, format.ErrUnsupported) || x.gaps[0].part != "nodes[0] ("+tt.op+")" {
					t.Errorf("%s: %v", x.gaps[0].part, x.gaps[0].err)
				}
			} else if len(x.nodes) > 0 {
				n := x.nodes[0]
				got = n.Op + "(" + strings.Join(n.Inputs, " ") + ")"
				for _, a := range n.Attributes {
					got += " " + a.Name + "=" + fmt.Sprint(a.Value)
				}
			}
			expect.Equal(t, tt.want, got)
		})
	}
}

// TestBiasOfClaims: weights without elements do not make a bias of terabytes.
func TestBiasOfClaims(t *testing.T) {
	w, err := tensor.FromBytes("w", tensor.Float32, tensor.Shape{1 << 40, 1, 0, 2}, nil)
	expect.OK(t, err)
	p, _ := vocabularySchema(t, "Conv")
	x := newTranslator(p, []*item{{from: w, to: w.Info()}}, "spoken")
	if x.run(own{}, spoken{}, true); len(x.gaps) != 1 || !strings.Contains(x.gaps[0].err.Error(), "weights of shape") {
		t.Errorf("%+v", x.gaps)
	}
}

// TestVerify: damage to the target after it was written is found, also where the target replaced the
// tensor's name.
func TestVerify(t *testing.T) {
	data := []byte("sixteen bytes...")
	v, err := tensor.FromBytes("a b", tensor.Float32, tensor.Shape{4}, data)
	expect.OK(t, err)
	in := filepath.Join(t.TempDir(), "in.safetensors")
	expect.OK(t, format.Save(t.Context(), in, nil, []tensor.View{v}, nil))
	m, err := format.Open(in, nil)
	expect.OK(t, err)
	defer m.Close()
	for _, to := range []string{"safetensors", "tsr", "mle"} {
		path := filepath.Join(t.TempDir(), "out."+to)
		j, err := newJob(t.Context(), path, &Options{Lossy: true, Verify: true})
		expect.OK(t, err)
		_, err = j.checked(m)
		expect.OK(t, err)
		b := expect.Read(t, path)
		copy(b[bytes.Index(b, data):], "S")
		expect.OK(t, os.WriteFile(path, b, 0o666))
		var located *tensor.Error
		if err := j.verify(); !errors.Is(err, format.ErrChecksum) || !errors.As(err, &located) || !strings.HasPrefix(located.Field, "tensor ") {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestVerifyProgress: verifying is reported, after writing.
func TestVerifyProgress(t *testing.T) {
	v, err := tensor.FromBytes("w", tensor.Float32, tensor.Shape{4}, make([]byte, 16))
	expect.OK(t, err)
	in := filepath.Join(t.TempDir(), "in.safetensors")
	expect.OK(t, format.Save(t.Context(), in, nil, []tensor.View{v}, nil))
	var got []string
	report := func(done, total int64, name string) { got = append(got, fmt.Sprintf("%d %d %s", done, total, name)) }
	o := &Options{Verify: true, Write: &format.WriteOptions{Progress: report}}
	_, err = File(t.Context(), in, filepath.Join(t.TempDir(), "out.mag"), o)
	expect.OK(t, err)
	expect.Equal(t, []string{"16 16 w", "16 16 w"}, got)
}

// TestRandomGraphs: graphs that make no sense are translated or refused, never a panic, and what is translated
// has no loose ends.
func TestRandomGraphs(t *testing.T) {
	drivers, vocabularies := map[string]driver.Driver{}, map[string][]driver.Operator{}
	for _, name := range []string{"onnx", "mobi", "mle"} {
		c, err := format.ByName(name)
		expect.OK(t, err)
		drivers[name], vocabularies[name] = c.Driver(), c.Driver().(driver.Vocabulary).Operators()
	}
	translated := map[string]int{}
	seeds, enough := uint64(20000), 50
	if testing.Short() {
		seeds, enough = 4000, 5
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		names := slices.Sorted(maps.Keys(vocabularies))
		from := names[r.IntN(len(names))]
		to := names[r.IntN(len(names))]
		if from == to {
			continue
		}
		p, items := randomGraph(t, r, vocabularies[from])
		x := newTranslator(p, items, to)
		x.run(drivers[from], drivers[to], true)
		if len(x.gaps) > 0 {
			continue
		}
		x.finish()
		translated[from+" to "+to]++
		known := map[string]bool{"": true}
		for _, v := range p.Graph.Inputs {
			known[v.Name] = true
		}
		for _, it := range x.items {
			if known[it.to.Name] {
				t.Fatalf("seed %d: tensor %q occurs twice", seed, it.to.Name)
			}
			known[it.to.Name] = true
		}
		for _, n := range p.Graph.Nodes {
			for _, s := range n.Inputs {
				if !known[s] {
					t.Fatalf("seed %d: %s takes %q, which nothing yields", seed, n.Op, s)
				}
			}
			for _, s := range n.Outputs {
				known[s] = true
			}
		}
	}
	for _, pair := range []string{"onnx to mobi", "onnx to mle", "mobi to onnx", "mobi to mle", "mle to onnx", "mle to mobi"} {
		if translated[pair] < enough {
			t.Errorf("%s: only %d were translated", pair, translated[pair])
		}
	}
}

// randomGraph makes a graph of a few nodes over a few tensors; no two values have the same name.
func randomGraph(t *testing.T, r *rand.Rand, ops []driver.Operator) (*schema.Schema, []*item) {
	numbers := []int64{0, 1, 1, 1, 2, 3, -1, 4, 8, -2, 64, math.MaxInt64, math.MinInt64, math.MaxInt32 + 1}
	number := func() int64 { return numbers[r.IntN(len(numbers))] }
	list := func() []int64 {
		out := make([]int64, []int{2, 2, 4, 4, 0, 1, 3}[r.IntN(7)])
		for i := range out {
			out[i] = number()
		}
		return out
	}
	p := &schema.Schema{Graph: &schema.Graph{Outputs: []schema.ValueInfo{{Name: "y"}}}}
	if r.IntN(4) == 0 { // a Softmax without inputs panicked before version 13
		p.Metadata = schema.Metadata{{Key: opsets.Key, Value: json.RawMessage(`[{"domain":"","version":11}]`)}}
	}
	var items []*item
	var values []string
	shapes := []tensor.Shape{{4, 2, 3, 3}, {4, 1, 3, 3}, {4}, {2}, {}, {4, 2}, {0, 2}, {2, 4, 6, 6}, {3, 0, 1, 1}}
	for i := range 4 {
		s, d := shapes[r.IntN(len(shapes))], []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int64}[r.IntN(3)]
		size, _ := s.ByteSize(d)
		data := make([]byte, size)
		for k := 0; d == tensor.Int64 && k < len(data); k += 8 {
			data[k] = byte(number())
		}
		v, err := tensor.FromBytes(fmt.Sprintf("t%d", i), d, s, data)
		expect.OK(t, err)
		items, values = append(items, &item{from: v, to: v.Info()}), append(values, v.Name())
	}
	input := schema.ValueInfo{Name: "x"}
	for range []int{4, 4, 4, 2, 1, 0}[r.IntN(6)] {
		input.Dims = append(input.Dims, schema.Dim{Size: []int64{1, 2, 4, 8, -1}[r.IntN(5)]})
	}
	p.Graph.Inputs = append(p.Graph.Inputs, input)
	values = append(values, "x", "x", "x")
	onnx := slices.Sorted(maps.Keys(operators))
	for i := range 1 + r.IntN(3) {
		out := fmt.Sprintf("n%d", i)
		n := schema.Node{Outputs: []string{out, out + "b"}[:[]int{1, 1, 1, 1, 1, 1, 1, 1, 0, 2}[r.IntN(10)]]}
		inputs, attrs := r.IntN(10)%4, map[string]any{}
		if ops == nil {
			n.Op = onnx[r.IntN(len(onnx))]
			for name := range operators[n.Op].defaults {
				attrs[name] = nil
			}
			if n.Op == "BatchNormalization" {
				inputs = 5
			}
		} else {
			o := ops[r.IntN(len(ops))]
			n.Op = o.Name
			if o.Quantizes != nil && r.IntN(100) == 0 {
				attrs["input1_scale"] = nil
			}
			for _, a := range o.Attributes {
				for _, name := range a.Names {
					attrs[name] = a.Value
				}
			}
			inputs = max(inputs, o.Inputs)
		}
		for range inputs {
			n.Inputs = append(n.Inputs, values[r.IntN(len(values))])
		}
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			var v any = number()
			switch attrs[name].(type) {
			case nil:
				v = []any{number(), list(), list(), float32(1), "SAME_UPPER"}[r.IntN(5)]
			case bool:
				v = r.IntN(2) == 0
			case float32:
				v = float32(0.5)
			case []int32, []int64:
				v = list()
			}
			if r.IntN(4) == 0 {
				n.Attributes = append(n.Attributes, schema.Attribute{Name: name, Value: v})
			}
		}
		p.Graph.Nodes = append(p.Graph.Nodes, n)
		values = append(values, out, out)
	}
	p.Graph.Outputs[0].Name = values[len(values)-1]
	return p, items
}

// TestEqual: values of attributes are equal if their types and bits are.
func TestEqual(t *testing.T) {
	negative := float32(math.Copysign(0, -1))
	for _, tt := range []struct {
		name string
		a, b any
		want bool
	}{
		{"integers", int64(1), int64(1), true},
		{"other types", int64(1), float32(1), false},
		{"lists", []int64{1, 2}, []int64{1, 2}, true},
		{"other lists", []int64{1, 2}, []int64{1, 3}, false},
		{"nothing", nil, nil, true},
		{"nothing and a number", nil, int64(0), false},
		{"zeros", float32(0), negative, false},
		{"no numbers", float32(math.NaN()), float32(math.NaN()), true},
	} {
		if got := equal(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestOperatorSet: of several versions of ONNX's operators, the highest counts.
func TestOperatorSet(t *testing.T) {
	for _, c := range []struct {
		sets string
		want int64
	}{
		{`[]`, version},
		{`[{"domain":"other","version":30}]`, version},
		{`[{"domain":"","version":9},{"domain":"ai.onnx","version":13},{"domain":"","version":11},{"domain":"other","version":30}]`, 13},
		{`[{"domain":"","version":-1}]`, -1},
	} {
		p := &schema.Schema{Metadata: schema.Metadata{{Key: opsets.Key, Value: json.RawMessage(c.sets)}}}
		if got := operatorSet(p); got != c.want {
			t.Errorf("%s: %d, want %d", c.sets, got, c.want)
		}
	}
}
