package convert_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// network builder: nodes in order, weights that no two models share.
type builder struct {
	graph   *schema.Graph
	tensors []one
	seed    uint64
}

func newNet(inputs ...schema.ValueInfo) *builder {
	return &builder{graph: &schema.Graph{Name: "net", Inputs: inputs, Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: []schema.Dim{}}}}, seed: 7}
}

// image is an input of one image, or of a batch that is not fixed.
func image(name string, dims ...int64) schema.ValueInfo {
	return schema.ValueInfo{Name: name, DType: tensor.Float32, Dims: schema.FixedDims(dims...)}
}

func (b *builder) random() float32 {
	b.seed = b.seed*6364136223846793005 + 1442695040888963407
	return float32(int64(b.seed)>>40) / (1 << 23)
}

// weights adds a tensor and returns its name. Those of a variance are positive.
func (b *builder) weights(name string, shape ...int64) string {
	n, _ := tensor.Shape(shape).Elems()
	values := make([]float32, n)
	scale := float32(1) // so that sums of products stay as large as what goes in
	if len(shape) > 1 {
		scale = float32(math.Sqrt(3 * float64(shape[0]) / float64(n)))
	}
	for i := range values {
		if values[i] = (b.random() + 0.2) * scale; strings.HasPrefix(name, "variance") {
			values[i] = float32(values[i]*values[i]) + 2 // not fused
		}
	}
	b.tensors = append(b.tensors, floats(name, shape, values...))
	return name
}

// scalar adds a number.
func (b *builder) scalar(name string, value float32) string {
	b.tensors = append(b.tensors, floats(name, tensor.Shape{}, value))
	return name
}

// int64s adds a tensor of integers.
func (b *builder) int64s(name string, values ...int64) string {
	b.tensors = append(b.tensors, raw(name, tensor.Int64, tensor.Shape{int64(len(values))}, le(8, values...)))
	return name
}

type attrs map[string]any

// node adds a node and returns the name of what it yields.
func (b *builder) node(op string, a attrs, inputs ...string) string {
	n := schema.Node{Op: op, Inputs: inputs, Outputs: []string{fmt.Sprintf("v%d", len(b.graph.Nodes))}}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		n.Attributes = append(n.Attributes, schema.Attribute{Name: name, Value: a[name]})
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
	return n.Outputs[0]
}

// norm adds a batch normalization.
func (b *builder) norm(x string, channels int64) string {
	i := fmt.Sprint(len(b.graph.Nodes))
	return b.node("BatchNormalization", attrs{"epsilon": float32(1e-3), "momentum": float32(0.7)}, x, b.weights("gamma"+i, channels), b.weights("beta"+i, channels),
		b.weights("mean"+i, channels), b.weights("variance"+i, channels))
}

// write writes the model with y as its output.
func (b *builder) write(t *testing.T, kind string, opset int64) string {
	t.Helper()
	last := &b.graph.Nodes[len(b.graph.Nodes)-1]
	last.Outputs = []string{"y"}
	return model(t, kind, b.schema(opset), b.tensors...)
}

// plan returns the plan of the model, but for its tensors.
func (b *builder) schema(opset int64) schema.Schema {
	p := schema.Schema{Graph: b.graph}
	if opset != 0 {
		p.Metadata = schema.Metadata{{Key: "opsets", Value: json.RawMessage(fmt.Sprintf(`[{"domain":"","version":%d}]`, opset))}}
	}
	return p
}

func list(v ...int64) []int64 { return v }

// mnist is a network for MNIST as exporters write them: SAME padding, Reshape, Gemm.
func mnist() *builder {
	b := newNet(image("x", 2, 1, 28, 28))
	b.graph.Outputs[0].Dims = schema.FixedDims(2, 10)
	h := b.node("Conv", attrs{"kernel_shape": list(5, 5), "auto_pad": "SAME_UPPER"}, "x", b.weights("conv1.w", 4, 1, 5, 5), b.weights("conv1.b", 4))
	h = b.node("MaxPool", attrs{"kernel_shape": list(2, 2), "strides": list(2, 2)}, b.node("Relu", nil, h))
	h = b.node("Conv", attrs{"pads": list(2, 1, 2, 1)}, h, b.weights("conv2.w", 6, 4, 5, 3)) // neither kernel_shape nor bias
	h = b.node("MaxPool", attrs{"kernel_shape": list(3, 2), "strides": list(3, 2), "pads": list(1, 0, 1, 0)}, b.node("Relu", nil, h))
	h = b.node("Reshape", nil, h, b.int64s("shape", 0, -1))
	h = b.node("Gemm", attrs{"transB": int64(1)}, h, b.weights("fc1.w", 10, 6*5*7), b.weights("fc1.b", 10))
	b.node("Softmax", attrs{"axis": int64(1)}, h)
	return b
}

// cifar is a residual network for CIFAR. Without small it has what MLE lacks.
func cifar(small bool) *builder {
	b := newNet(schema.ValueInfo{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: schema.DynamicDim, Symbol: "batch"}, {Size: 3}, {Size: 16}, {Size: 16}}})
	b.graph.Outputs[0].Dims = []schema.Dim{{Size: schema.DynamicDim, Symbol: "batch"}, {Size: 10}}
	conv := func(x, name string, a attrs, shape ...int64) string {
		return b.node("Conv", a, x, b.weights(name+".w", shape...), b.weights(name+".b", shape[0]))
	}
	h := b.node("Relu", nil, b.norm(conv("x", "stem", attrs{"pads": list(1, 1, 1, 1)}, 8, 3, 3, 3), 8))
	short := h
	h = b.node("Relu", nil, b.norm(conv(h, "a1", attrs{"pads": list(1, 1, 1, 1), "kernel_shape": list(3, 3)}, 8, 8, 3, 3), 8))
	h = b.node("Relu", nil, b.node("Add", nil, conv(h, "a2", attrs{"pads": list(1, 1, 1, 1)}, 8, 8, 3, 3), short))
	if !small {
		h = conv(h, "depthwise", attrs{"pads": list(1, 1, 1, 1), "group": int64(8)}, 8, 1, 3, 3)
		h = conv(h, "grouped", attrs{"pads": list(2, 2, 2, 2), "dilations": list(2, 2), "group": int64(2)}, 8, 4, 3, 3)
		h = b.node("Mul", nil, b.node("Sigmoid", nil, h), b.node("Tanh", nil, h))
		h = b.node("Div", nil, b.node("Sub", nil, h, short), b.node("Add", nil, b.node("Sigmoid", nil, h), b.node("Sigmoid", nil, short)))
	}
	strided := conv(h, "strided", attrs{"strides": list(2, 2), "pads": list(1, 1, 1, 1)}, 4, 8, 3, 3)
	pooled := b.node("AveragePool", attrs{"kernel_shape": list(3, 3), "strides": list(2, 2), "pads": list(1, 1, 1, 1), "count_include_pad": int64(1)}, h)
	other := b.node("AveragePool", attrs{"kernel_shape": list(3, 3), "strides": list(2, 2), "pads": list(1, 1, 1, 1)}, h)
	h = b.node("Concat", attrs{"axis": int64(-3)}, strided, pooled, b.node("Mul", nil, other, other))
	h = b.node("Transpose", attrs{"perm": list(0, 1, 3, 2)}, h)
	h = b.node("Flatten", nil, b.node("GlobalAveragePool", nil, b.node("Dropout", nil, h, b.scalar("ratio", 0.5))))
	h = b.node("Relu", nil, b.node("Gemm", nil, h, b.weights("fc1.w", 20, 12), b.weights("fc1.b", 12)))
	h = b.node("MatMul", nil, h, b.weights("fc2.w", 12, 10))
	b.node("Softmax", nil, b.node("Identity", nil, h))
	return b
}

// exported is a network with the habits of older exporters: version 11 of the operators, constants as nodes,
// weights that pass through nodes that do nothing, biases that are added.
func exported() *builder {
	b := newNet(image("x", 2, 1, 8, 8))
	b.graph.Outputs[0].Dims = schema.FixedDims(2, 5)
	shape, err := tensor.Of("", tensor.Shape{2}, []int64{2, -1})
	if err != nil {
		panic(err)
	}
	h := b.node("Conv", attrs{"auto_pad": "VALID"}, "x", b.node("Identity", nil, b.weights("w", 3, 1, 3, 3)))
	h = b.node("Reshape", nil, b.node("Relu", nil, h), b.node("Constant", attrs{"value": shape}))
	h = b.node("Dropout", attrs{"ratio": float32(0.25)}, h)
	h = b.node("Add", nil, b.weights("b1", 7), b.node("MatMul", nil, h, b.weights("w1", 108, 7)))
	h = b.node("Transpose", nil, b.node("Relu", nil, h))
	h = b.node("Gemm", attrs{"transA": int64(1)}, h, b.weights("w2", 7, 5))
	h = b.node("Add", nil, b.node("MatMul", nil, h, b.weights("w3", 5, 5)), b.weights("b3", 5))
	b.node("Softmax", nil, h)
	return b
}

// TestOldInputs: before version 4 of the representation initializers were inputs too, which other formats
// refuse.
func TestOldInputs(t *testing.T) {
	b := newNet(image("x", 1, 2, 3, 3), image("w", 4, 2, 2, 2))
	b.graph.Outputs[0].Dims = schema.FixedDims(1, 4, 2, 2)
	b.node("Conv", nil, "x", b.weights("w", 4, 2, 2, 2))
	b.graph.Nodes[0].Outputs = []string{"y"}
	path := model(t, "onnx", schema.Schema{Graph: b.graph, Metadata: schema.Metadata{{Key: "ir_version", Value: int64(3)}}}, b.tensors...)
	for _, to := range []string{"mobi", "mle"} {
		m := open(t, translated(t, path, to))
		if g, _ := m.Graph(); len(g.Inputs) != 1 {
			t.Errorf("%s: inputs %v", to, g.Inputs)
		}
		for _, e := range expect.Got(t, m.Metadata) {
			if e.Key == "opsets" || e.Key == "ir_version" {
				t.Errorf("%s: metadata %q", to, e.Key)
			}
		}
	}
}

// translated converts a file, and refuses to lose anything of the graph but labels.
func translated(t *testing.T, in, to string) string {
	t.Helper()
	m, report := converted(t, in, to, &convert.Options{Lossy: true, Verify: true})
	for _, l := range report.Losses {
		if l.Name == "opsets" || l.Name == "ir_version" || l.Kind == schema.LossGraph || l.Kind == schema.LossAttribute || l.Kind == schema.LossQuantization {
			t.Fatalf("to %s: lost %s: %s", to, l.Item(), l.Why)
		}
	}
	return m.Path()
}

var update = flag.Bool("update", false, "write testdata/translated.txt")

// TestTranslated compares networks that pass from format to format with testdata/translated.txt.
func TestTranslated(t *testing.T) {
	mobi, mle := natives()
	quantized := func(o tensor.QuantizeOptions) string {
		m, _ := converted(t, mnist().write(t, "onnx", 17), "mobi", &convert.Options{Lossy: true, Quantize: convert.Quantized(o)})
		return m.Path()
	}
	var got bytes.Buffer
	for _, tt := range []struct{ name, path, chain string }{
		{"mnist", mnist().write(t, "onnx", 17), "wia mobi mle onnx mobi"},
		{"cifar, what mle has", cifar(true).write(t, "onnx", 17), "mobi mle onnx mle mobi"},
		{"cifar", cifar(false).write(t, "onnx", 17), "mobi wia mobi onnx"},
		{"exported", exported().write(t, "onnx", 11), "mobi onnx mle wia"},
		{"native mobi", mobi.write(t, "mobi", 0), "onnx wia mobi"},
		{"native mle", mle.write(t, "mle", 0), "wia onnx mle"},
		{"int8 per tensor", quantized(tensor.QuantizeOptions{}), "onnx mobi"},
		{"int8 per channel", quantized(tensor.QuantizeOptions{PerChannel: true}), "onnx mobi"},
		{"uint8", quantized(tensor.QuantizeOptions{Asymmetric: true}), "wia mobi"},
	} {
		for _, to := range strings.Fields(tt.chain) {
			tt.path = translated(t, tt.path, to)
			fmt.Fprintf(&got, "%s to %s\n", tt.name, to)
			m := open(t, tt.path)
			g, err := m.Graph()
			expect.OK(t, err)
			for _, n := range g.Nodes {
				fmt.Fprintf(&got, "\t%s %v %v", n.Op, n.Inputs, n.Outputs)
				for _, a := range n.Attributes {
					fmt.Fprintf(&got, " %s=%v", a.Name, a.Value)
				}
				fmt.Fprintln(&got)
			}
			for _, v := range m.Tensors() {
				sum, err := v.Digest()
				fmt.Fprintf(&got, "\t%v %x %v\n", v, sum, err)
			}
		}
	}
	const golden = "testdata/translated.txt"
	if *update {
		expect.OK(t, os.WriteFile(golden, got.Bytes(), 0o666))
	}
	expect.Equal(t, strings.Split(string(expect.Read(t, golden)), "\n"), strings.Split(got.String(), "\n"))
}

// natives are networks in the operators of MOBI and MLE, with what these leave unsaid.
func natives() (mobi, mle *builder) {
	mobi = newNet(image("x", 1, 2, 12, 12))
	h := mobi.node("Conv2D", attrs{"stride": []int32{2, 1}}, "x", mobi.weights("0", 4, 2, 3, 3))
	h = mobi.node("DepthwiseConv2D", attrs{"kernel_size": []int32{2, 2}}, h, mobi.weights("1", 4, 1, 2, 2))
	h = mobi.node("AvgPool2D", attrs{"kernel_size": []int32{3, 3}, "stride": []int32{1, 1}, "padding": []int32{1, 1}}, h)
	h = mobi.node("MaxPool2D", nil, mobi.node("AvgPool2D", attrs{"kernel_size": []int32{2, 3}, "count_include_pad": true}, h))
	mobi.node("FullyConnected", nil, mobi.node("Transpose", nil, h), mobi.weights("2", 6, 4))

	mle = newNet(image("x", 1, 2, 12, 12))
	h = mle.node("Conv2D", attrs{"stride_h": int64(2), "pad_w": int64(1)}, "x", mle.weights("w", 4, 2, 3, 3), mle.weights("b", 4))
	h = mle.node("AvgPool2D", nil, mle.node("MaxPool2D", nil, h))
	h = mle.node("Dropout", nil, mle.node("Flatten", nil, h))
	h = mle.node("LayerNorm", nil, mle.node("Linear", nil, h, mle.weights("fc", 6, 12), mle.weights("fcb", 6)), mle.weights("g", 6), mle.weights("gb", 6))
	mle.node("Softmax", nil, h)
	for _, b := range []*builder{mobi, mle} {
		b.graph.Name = ""
		b.graph.Outputs[0].Dims = schema.FixedDims(1, 6)
	}
	return mobi, mle
}

// TestNoCounterpart: what a format has no operator for is refused, with the node named.
func TestNoCounterpart(t *testing.T) {
	conv := func(a attrs, shape ...int64) func(*builder) {
		return func(b *builder) { b.node("Conv", a, "x", b.weights("w", shape...), b.weights("b", shape[0])) }
	}
	type node struct {
		name string
		add  func(*builder)
		why  string
	}
	for _, tt := range []struct {
		formats string
		opset   int64
		nodes   []node
	}{
		{"mobi mle", 17, []node{
			{"another operator", func(b *builder) { b.node("Erf", nil, "x") }, "no operator for it"},
			{"padding of one end", conv(attrs{"pads": list(0, 0, 1, 1)}, 2, 2, 3, 3), "differ at the two ends of an axis"},
			{"ceil_mode", func(b *builder) {
				b.node("MaxPool", attrs{"kernel_shape": list(2, 2), "ceil_mode": int64(1)}, "x")
			}, "cannot store ceil_mode"},
			{"broadcasting", func(b *builder) { b.node("Add", nil, "x", b.weights("b", 1)) }, "inputs of one shape"},
			{"broadcasting to what is used elsewhere", func(b *builder) {
				m := b.node("MatMul", nil, b.node("Flatten", nil, "x"), b.weights("w", 128, 2))
				b.node("Relu", nil, m)
				b.node("Add", nil, m, b.weights("b", 2))
			}, "inputs of one shape"},
			{"alpha", func(b *builder) {
				b.node("Gemm", attrs{"alpha": float32(2), "transB": int64(1)}, b.node("Flatten", nil, "x"), b.weights("w", 3, 128))
			}, "cannot store alpha 2"},
			{"a bias for all columns", func(b *builder) {
				b.node("Gemm", attrs{"transB": int64(1)}, b.node("Flatten", nil, "x"), b.weights("w", 3, 128), b.weights("b", 1))
			}, "a bias for each column"},
			{"attributes of another type", conv(attrs{"group": "2"}, 2, 2, 3, 3), `attribute "group"`},
			{"attributes that do not exist", conv(attrs{"scale": int64(2)}, 2, 2, 3, 3), `attribute "scale"`},
			{"a shape of numbers", func(b *builder) { b.node("Reshape", nil, "x", b.weights("shape", 2)) }, `the shape "shape" is a float32 tensor`},
			{"MatMul of more dims", func(b *builder) { b.node("MatMul", nil, b.node("Flatten", nil, "x"), b.weights("w", 2, 128, 3)) }, "takes 2 dims"},
			{"a dim that is not there", func(b *builder) { b.node("Reshape", nil, "x", b.int64s("shape", 1, 1, 1, 128, 0)) }, "needs dims of the input that are unknown"},
			{"Dropout in training", func(b *builder) {
				b.node("Dropout", nil, "x", b.weights("ratio"), b.node("Identity", nil, b.weights("training")))
			}, "3 inputs"},
			{"a shape that is computed", func(b *builder) { b.node("Reshape", nil, "x", b.node("Shape", nil, "x")) }, "is computed"},
		}},
		{"mle", 17, []node{
			{"Sigmoid", func(b *builder) { b.node("Sigmoid", nil, "x") }, "mle has no operator for Sigmoid"},
			{"groups", conv(attrs{"group": int64(2)}, 2, 1, 3, 3), "cannot store group 2"},
			{"dilations", conv(attrs{"dilations": list(2, 1)}, 2, 2, 3, 3), "cannot store dilations [2 1]"},
			{"Softmax over rows of images", func(b *builder) { b.node("Softmax", nil, "x") }, "Softmax takes 2 dims"},
		}},
		{"mobi mle", 11, []node{{"Softmax over several dims", func(b *builder) { b.node("Softmax", nil, "x") }, "flattens the dims from 1 on"}}},
		{"mobi mle", 6, []node{{"operators that are too old", func(b *builder) { b.node("Relu", nil, "x") }, "operator set 6"}}},
		{"mobi", 17, []node{{"beyond 32 bits", conv(attrs{"strides": list(1<<40, 1)}, 2, 2, 3, 3), "strides [1099511627776 1]"}}},
	} {
		for _, n := range tt.nodes {
			for _, to := range strings.Fields(tt.formats) {
				t.Run(n.name+" to "+to, func(t *testing.T) {
					b := newNet(image("x", 1, 2, 8, 8))
					n.add(b)
					b.graph.Nodes[len(b.graph.Nodes)-1].Name = "the last"
					in := b.write(t, "onnx", tt.opset)
					list := losses(refused(t, in, to, nil, format.ErrSchema))
					last := len(b.graph.Nodes) - 1
					item := fmt.Sprintf("graph:nodes[%d] (%s)", last, b.graph.Nodes[last].Op)
					isItem := func(l schema.Loss) bool { return l.Item() == item }
					at := slices.IndexFunc(list, isItem)
					if at < 0 || !strings.Contains(list[at].Why, n.why) || !strings.Contains(list[at].Why, `node "the last"`) {
						t.Fatalf("%s is not among %+v", item, list)
					}
					// Accepted, the graph goes, and all of it.
					m, report := converted(t, in, to, &convert.Options{Lossy: true})
					if !slices.ContainsFunc(report.Losses, isItem) {
						t.Fatalf("%+v", report)
					}
					carried := func(n schema.Node) bool { return n.Op == "22349" } // which has the names in MOBI
					if g, err := m.Graph(); err != nil || g != nil && len(slices.DeleteFunc(g.Nodes, carried)) > 0 {
						t.Error(g, err)
					}
				})
			}
		}
	}
}

// TestDocumentedOperators: the table in the package's documentation is that of the formats.
func TestDocumentedOperators(t *testing.T) {
	var lines []string
	for _, name := range format.Writable() {
		c, err := format.ByName(name)
		expect.OK(t, err)
		v, ok := c.Driver().(driver.Vocabulary)
		if !ok {
			continue
		}
		for _, o := range v.Operators() {
			var notes []string
			for _, a := range o.Attributes {
				sep := ", "
				if a.Alias {
					sep = " or "
				}
				note := strings.Join(a.Names, sep)
				if len(a.Names) == 0 {
					note = fmt.Sprintf("%s is %v", a.ONNX, a.Default)
				}
				notes = append(notes, note)
			}
			for _, note := range []struct {
				is   bool
				text string
			}{{o.SameShape, "inputs of one shape"}, {o.Depthwise, "as many groups as channels"}, {o.Flattens, "flattens its input"}, {o.Inputs == 3, "has a bias"},
				{o.Rank == 2, "2 dims"}} {
				if note.is {
					notes = append(notes, note.text)
				}
			}
			lines = append(lines, strings.TrimRight(fmt.Sprintf("//\t%-18s  %-4s  %-15s  %s", o.ONNX, name, o.Name, strings.Join(notes, ", ")), " "))
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[:20], b[:20]) })
	doc := expect.Read(t, "doc.go")
	if want := strings.Join(lines, "\n"); !strings.Contains(string(doc), want) {
		t.Errorf("doc.go lacks this table:\n%s", want)
	}
}
