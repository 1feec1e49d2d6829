package all_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// The copy matrix: a model as rich as its format allows, written in each of
// them. Everything is kept, or the copy is refused with exactly the list
// in testdata/lost.txt; with the losses accepted it holds all else.

func quantized(d tensor.DType, name string, q tensor.Quantization, shape ...int64) tensor.Info {
	return tensor.Info{Name: name, DType: d, Shape: shape, Quant: &q}
}

// sources are the models: for each format a schema, or two where the operators of
// the first are nothing that others know.
func sources() map[string]*schema.Schema {
	perTensor := tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}, ZeroPoints: []int32{3}}
	perChannel := tensor.Quantization{Axis: 0, Scales: []float32{0.5, 0.25}, ZeroPoints: []int32{1, -1}}
	logarithmic := tensor.Quantization{Scheme: tensor.Logarithmic, Axis: tensor.PerTensor, Scales: []float32{0.125}}
	inner := &schema.Graph{Name: "body", Inputs: []schema.ValueInfo{{Name: "i"}}, Outputs: []schema.ValueInfo{{Name: "o"}},
		Nodes: []schema.Node{{Op: "Relu", Inputs: []string{"i"}, Outputs: []string{"o"}}}}
	attached, err := tensor.FromBytes("t", tensor.Int8, tensor.Shape{2}, []byte{1, 2})
	if err != nil {
		panic(err)
	}
	return map[string]*schema.Schema{
		"tsr": {Tensors: []tensor.Info{
			list(tensor.Float32, "w", 2, 3), list(tensor.Int8, "b.x", 5), list(tensor.Int32, "scalar"), list(tensor.Float32, "none", 0, 2),
		}},
		"mag": {
			Metadata: schema.Metadata{{Key: "epoch", Value: int64(7)}, {Key: "loss", Value: 0.1}, {Key: "five", Value: 5.0}, {Key: "worst", Value: math.Inf(1)}},
			Tensors: []tensor.Info{
				list(tensor.Float32, "w", 2, 3), list(tensor.Float16, "layer/h", 3), list(tensor.Bool, "mask", 4), list(tensor.Int32, "i", 1),
			},
		},
		"mobi": {
			Metadata: schema.Metadata{
				{Key: "name", Value: "net"}, {Key: "framework_version", Value: int64(3)},
				{Key: "creation_timestamp", Value: int64(1700000000)}, {Key: "flags", Value: int64(1)},
			},
			Tensors: []tensor.Info{
				list(tensor.Float32, "1", 3, 2), quantized(tensor.Int8, "2", perChannel, 2, 3), quantized(tensor.Int16, "3", perTensor, 4),
				list(tensor.Float16, "4", 2), list(tensor.Int32, "5", 1),
			},
			Graph: &schema.Graph{
				Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: schema.DynamicDim}, {Size: 3}}}},
				Outputs: []schema.ValueInfo{{Name: "y", Code: "900", Dims: schema.FixedDims(1, 2)}},
				Nodes: []schema.Node{
					{Op: "Add", Inputs: []string{"x", "2"}, Outputs: []string{"10"}, Attributes: []schema.Attribute{
						{Name: "i", Value: int64(5)}, {Name: "l", Value: int64(1) << 40}, {Name: "f", Value: float32(0.1)}, {Name: "d", Value: 1.0 / 3},
						{Name: "b", Value: true}, {Name: "s", Value: "text"}, {Name: "is", Value: []int32{1, 2}}, {Name: "fs", Value: []float32{0.5}}, {Name: "ls", Value: []int64{1 << 40}},
					}},
					{Op: "Add", Inputs: []string{"10", "3"}, Outputs: []string{"y"}},
				},
			},
		},
		"mle": {
			Metadata: schema.Metadata{
				{Key: "author", Value: "me"}, {Key: "epoch", Value: int64(7)}, {Key: "loss", Value: json.Number("0.1")}, {Key: "digits", Value: json.Number("0.10")},
				{Key: "final", Value: true}, {Key: "nothing", Value: nil}, {Key: "tags", Value: json.RawMessage(`["a",1]`)}, {Key: "more", Value: json.RawMessage(`{"k":[{}]}`)},
			},
			Tensors: []tensor.Info{
				list(tensor.Float32, "fc.weight", 2, 3), list(tensor.Float16, "fc.bias", 2), list(tensor.Int8, "q", 4), list(tensor.Int32, "scalar"),
			},
			Graph: &schema.Graph{
				Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: schema.DynamicDim}, {Size: 3}}}},
				Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
				Nodes: []schema.Node{
					{Op: "Linear", Inputs: []string{"x", "fc.weight", "fc.bias"}, Outputs: []string{"h"}, Attributes: []schema.Attribute{
						{Name: "i", Value: int64(5)}, {Name: "alpha", Value: 0.1}, {Name: "third", Value: 1.0 / 3}, {Name: "b", Value: true}, {Name: "s", Value: "text"},
						{Name: "is", Value: []int64{1, 2}}, {Name: "fs", Value: []float64{0.5}}, {Name: "ss", Value: []string{"a"}}, {Name: "o", Value: json.RawMessage(`{"k":1}`)},
					}},
					{Op: "ReLU", Inputs: []string{"h"}, Outputs: []string{"y"}},
				},
			},
		},
		// Operators that mobi and mle have too.
		"wia (Add)": {
			Metadata: schema.Metadata{{Key: "name", Value: "net"}, {Key: "tensor_names", Value: "none"}},
			Tensors: []tensor.Info{
				list(tensor.Float32, "w", 2, 3), quantized(tensor.Int8, "q", perChannel, 2, 3), quantized(tensor.Int8, "unused", perTensor, 2),
			},
			Graph: &schema.Graph{
				Name: "main",
				Inputs: []schema.ValueInfo{
					{Name: "x", DType: tensor.Int64, Dims: []schema.Dim{{Size: schema.DynamicDim, Symbol: "batch"}, {Size: 3}}},
				},
				Outputs:      []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: []schema.Dim{}}},
				Initializers: []string{"w", "q"},
				Nodes: []schema.Node{
					{Name: "first", Op: "Add", Inputs: []string{"x", "q"}, Outputs: []string{"h"}, Attributes: []schema.Attribute{
						{Name: "f", Value: float32(0.1)}, {Name: "ss", Value: []string{"a"}}, {Name: "bytes", Value: "\xff"}, {Name: "g", Value: inner}, {Name: "t", Value: attached},
					}},
					{Op: "Add", Inputs: []string{"h", "w"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "input1_scale", Value: float32(0.5)}}},
				},
			},
		},
		"wia": {
			Metadata: schema.Metadata{
				{Key: "model_info", Value: json.RawMessage(`{"name":"net","version":"1"}`)}, {Key: "name", Value: "net"}, {Key: "epoch", Value: int64(7)}, {Key: "loss", Value: json.Number("0.1")},
			},
			Tensors: []tensor.Info{
				list(tensor.Float32, "/fc/weight", 2, 3), list(tensor.Int16, "d", 2), list(tensor.Float16, "h", 2), list(tensor.BFloat16, "bf", 2),
				list(tensor.Int64, "l", 2), list(tensor.Uint8, "u", 4), list(tensor.Bool, "mask", 3), list(tensor.Int32, "scalar"),
				quantized(tensor.Int8, "fc.q", perChannel, 2, 3), quantized(tensor.Int16, "log", logarithmic, 4), quantized(tensor.Int8, "unused", perTensor, 2),
			},
			Graph: &schema.Graph{
				Name:         "main",
				Inputs:       []schema.ValueInfo{{Name: "x", DType: tensor.Int64, Dims: []schema.Dim{{Size: schema.DynamicDim, Symbol: "batch"}, {Size: 3}}}},
				Outputs:      []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: []schema.Dim{}}},
				Initializers: []string{"/fc/weight", "fc.q"},
				Nodes: []schema.Node{
					{Name: "first", Op: "MatMul", Inputs: []string{"x", "fc.q"}, Outputs: []string{"h1"}, Attributes: []schema.Attribute{
						{Name: "i", Value: int64(5)}, {Name: "f", Value: float32(0.1)}, {Name: "s", Value: "text"}, {Name: "is", Value: []int64{1, 2}},
						{Name: "fs", Value: []float32{0.5}}, {Name: "ss", Value: []string{"a"}}, {Name: "bytes", Value: "\xff"}, {Name: "g", Value: inner},
						{Name: "gs", Value: []*schema.Graph{inner}}, {Name: "t", Value: attached}, {Name: "ts", Value: []tensor.View{attached}},
					}},
					{Op: "Add", Domain: "org.example", Inputs: []string{"h1", "log"}, Outputs: []string{"h2"}},
					{Op: "Relu", Inputs: []string{"h2"}, Outputs: []string{"y"}},
				},
			},
		},
	}
}

func TestCopyMatrix(t *testing.T) {
	lost := map[string]string{}
	for line := range strings.Lines(string(expect.Read(t, "testdata/lost.txt"))) {
		pair, items, _ := strings.Cut(line, ": ")
		lost[pair] = strings.TrimSpace(items)
	}
	for from, s := range sources() {
		for _, to := range format.Writable() {
			pair := from + " to " + to
			t.Run(pair, func(t *testing.T) {
				name, _, _ := strings.Cut(from, " ")
				items := copyTo(t, source(t, name, s), to)
				expect.Equal(t, lost[pair], strings.Join(items, " "))
			})
		}
	}
}

// copyTo copies a model and compares. It returns what was refused at first.
func copyTo(t *testing.T, m *format.Model, to string) (items []string) {
	p, err := m.Schema()
	expect.OK(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "copy."+to)
	if to == "tsr" {
		path += string(os.PathSeparator)
	}
	var refused *schema.LossError
	w, err := format.Create(path, p, &format.WriteOptions{Format: formatNamed(to)})
	var accept []string
	if errors.As(err, &refused) {
		unwritten(t, dir)
		for _, l := range refused.Losses {
			items = append(items, strings.ReplaceAll(l.Item(), " ", "_"))
			if !l.Acceptable {
				items[len(items)-1] += "!"
				if l.Kind == schema.LossTensors {
					return items // a model without tensors, which tsr has no file for
				}
				p.Tensors = slices.DeleteFunc(p.Tensors, func(i tensor.Info) bool { return i.Name == l.Name })
				continue
			}
			accept = append(accept, l.Item())
		}
		w, err = format.Create(path, p, &format.WriteOptions{AcceptLoss: accept, Format: formatNamed(to)})
	}
	expect.OK(t, err)
	for _, info := range p.Tensors {
		v, err := m.Tensor(info.Name)
		expect.OK(t, err)
		expect.OK(t, w.WriteView(v))
	}
	expect.OK(t, w.Close())
	back := open(t, path, &format.Options{Check: format.CheckAll})
	got, err := back.Schema()
	expect.OK(t, err)
	compare(t, to, accept, p, got, m, back)
	return items
}

func unwritten(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("a refused copy left %v, %v", entries, err)
	}
}

// said is a model in words, so that two can be compared whose tensors are in
// another order or have other names.
type said struct {
	Tensors  []string
	Metadata []string
	Graph    []string
}

var additions = map[string]*regexp.Regexp{ // what formats add of their own
	"mobi": regexp.MustCompile(`^(name|framework_version|creation_timestamp|flags)=|^  (input\d+_(scale|zero_point|axis)):`),
	"mle":  regexp.MustCompile(`^tensor_names=`),
	"onnx": regexp.MustCompile(`^(ir_version|opsets)=`),
}

// compare demands that a copy says what the schema said, less what was accepted.
func compare(t *testing.T, to string, accept []string, want, got *schema.Schema, from, copied *format.Model) {
	t.Helper()
	a, b := words{accept: accept, m: from, meta: expect.Got(t, from.Metadata)}, words{accept: accept, m: copied, meta: expect.Got(t, copied.Metadata)}
	w, g := a.schema(t, want), b.schema(t, got)
	if own := additions[to]; own != nil {
		extra := func(want []string) func(string) bool {
			return func(s string) bool { return own.MatchString(s) && !slices.Contains(want, s) }
		}
		if to == "mle" { // the names are the writer's
			w.Metadata = slices.DeleteFunc(w.Metadata, own.MatchString)
		}
		g.Metadata = slices.DeleteFunc(g.Metadata, extra(w.Metadata))
		g.Graph = slices.DeleteFunc(g.Graph, extra(w.Graph))
	}
	if to == "onnx" { // fields of the model come before its other metadata, and graphs have names
		slices.Sort(w.Metadata)
		slices.Sort(g.Metadata)
		if want.Graph != nil && want.Graph.Name == "" {
			g.Graph = slices.DeleteFunc(g.Graph, func(s string) bool { return s == "graph graph" })
		}
	}
	if diff := gocmp.Diff(w, g, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the copy differs: %s", diff)
	}
}

// words puts a schema into words without what is accepted as lost.
type words struct {
	accept []string
	m      *format.Model
	meta   schema.Metadata
	names  map[string]string // of tensors and values in words
}

func (w *words) lost(kind, name string) bool { return slices.Contains(w.accept, kind+":"+name) }

// any reports whether a loss of that kind was accepted at all.
func (w *words) any(kind string) bool {
	return slices.ContainsFunc(w.accept, func(s string) bool { return s == kind || strings.HasPrefix(s, kind+":") })
}

func (w *words) schema(t *testing.T, p *schema.Schema) said {
	t.Helper()
	var s said
	w.names = map[string]string{"": "(none)"}
	for _, info := range p.Tensors {
		v, err := w.m.Tensor(info.Name)
		expect.OK(t, err)
		data, err := v.Bytes()
		expect.OK(t, err)
		text := fmt.Sprintf("%v %v %x", info.DType, []int64(info.Shape), data)
		w.names[info.Name] = "{" + text + "}"
		if !w.any("name") {
			text += " " + info.Name
		}
		if q := info.Quant; q != nil && !w.lost("quantization", info.Name) {
			text += fmt.Sprintf(" %v axis %d %v", q.Scheme, q.Axis, q.Scales)
			for i := range q.Scales {
				zero := int32(0)
				if n := len(q.ZeroPoints); n > 0 {
					zero = q.ZeroPoints[min(i, n-1)]
				}
				text += fmt.Sprintf(" %d", zero)
			}
		}
		s.Tensors = append(s.Tensors, text)
	}
	slices.Sort(s.Tensors)
	for _, e := range p.Metadata {
		if !w.lost("metadata", e.Key) {
			s.Metadata = append(s.Metadata, e.Key+"="+w.value(fmt.Sprintf("metadata %q", e.Key), e.Value))
		}
	}
	if p.Graph != nil && !w.any("graph") {
		s.Graph = w.graph("", p.Graph, p.Tensors)
	}
	return s
}

// graph puts a graph into words: values that it does not name itself are
// numbered as they appear.
func (w *words) graph(path string, g *schema.Graph, tensors []tensor.Info) []string {
	if len(g.Inputs)+len(g.Outputs)+len(g.Nodes) == 0 {
		return nil
	}
	names := map[string]string{}
	for k, v := range w.names {
		names[k] = v
	}
	outer := w.names
	w.names = names
	defer func() { w.names = outer }()
	var s []string
	if g.Name != "" && !w.lost("label", "graph name") && !slices.ContainsFunc(w.meta, func(e schema.Entry) bool { return e.Key == "name" && e.Value == g.Name }) {
		s = append(s, "graph "+g.Name)
	}
	for _, list := range [][]schema.ValueInfo{g.Inputs, g.Outputs} {
		for _, v := range list {
			names[v.Name] = v.Name
			s = append(s, w.valueInfo(v))
		}
	}
	if tensors != nil && !w.lost("label", "initializers") {
		declared := slices.Clone(g.Initializers)
		for i := range tensors {
			if g.Initializers == nil {
				declared = append(declared, tensors[i].Name)
			}
		}
		for i := range declared {
			declared[i] = w.names[declared[i]]
		}
		slices.Sort(declared)
		s = append(s, "declares "+strings.Join(declared, " "))
	}
	for i, n := range g.Nodes {
		at := fmt.Sprintf("%snodes[%d]", path, i)
		line := "node " + n.Op + " " + strings.Join(w.edges(n.Inputs), ",") + " to " + strings.Join(w.edges(n.Outputs), ",")
		if n.Name != "" && !w.lost("label", at+" name ("+n.Name+")") {
			line += " named " + n.Name
		}
		if n.Domain != "" && !w.lost("label", at+" domain ("+n.Domain+")") {
			line += " of " + n.Domain
		}
		s = append(s, line)
		for _, a := range n.Attributes {
			if name := at + "." + a.Name; !w.lost("attribute", name) {
				s = append(s, "  "+a.Name+": "+w.value(name, a.Value))
			}
		}
	}
	return s
}

func (w *words) edges(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		if _, ok := w.names[s]; !ok {
			w.names[s] = fmt.Sprintf("%%%d", len(w.names))
		}
		out[i] = w.names[s]
	}
	return out
}

func (w *words) valueInfo(v schema.ValueInfo) string {
	if w.lost("value", v.Name) {
		return "value " + v.Name
	}
	text := fmt.Sprintf("value %s %v %s", v.Name, v.DType, v.Code)
	if v.Dims == nil {
		return text + " of unknown shape"
	}
	for i, d := range v.Dims {
		if d.Symbol != "" && !w.lost("label", fmt.Sprintf("%s dim %d (%s)", v.Name, i, d.Symbol)) {
			text += " " + d.Symbol
		}
		text += fmt.Sprintf(" [%d]", d.Size)
	}
	return text
}

// value puts a value of metadata or of an attribute into words. Where it stands
// for less by leave of the caller, so do the words.
func (w *words) value(name string, v any) string {
	converted := w.lost("conversion", name)
	if converted && strings.HasPrefix(name, "metadata") {
		switch x := v.(type) { // a string takes its place
		case int64, bool, json.Number:
			return fmt.Sprint("s ", x)
		case nil:
			return "s null"
		}
	}
	switch x := v.(type) {
	case int64:
		return fmt.Sprint("i ", x)
	case int32:
		return fmt.Sprint("i ", x)
	case bool:
		if converted {
			return map[bool]string{false: "i 0", true: "i 1"}[x]
		}
		return fmt.Sprint("b ", x)
	case float64:
		if strings.HasPrefix(name, "metadata") && converted {
			return "s " + strconv.FormatFloat(x, 'g', -1, 64)
		}
		if converted {
			return w.value(name, float32(x))
		}
		return "f " + strconv.FormatFloat(x, 'g', -1, 64)
	case float32:
		return "f " + strconv.FormatFloat(float64(x), 'g', -1, 32)
	case json.Number:
		return "f " + strings.TrimSuffix(string(x), ".0")
	case string:
		return "s " + x
	case nil:
		return "null"
	case json.RawMessage:
		if converted {
			return "s " + string(x)
		}
		var text bytes.Buffer // spaces mean nothing, and some formats store values
		if err := json.Compact(&text, x); err != nil {
			return "not JSON: " + err.Error()
		}
		return "j " + text.String()
	case tensor.View:
		b, err := x.Bytes()
		return fmt.Sprintf("%v %v %x %v", x.DType(), x.Shape(), b, err)
	case *schema.Graph:
		return strings.Join(w.graph(name+".", x, nil), "; ")
	}
	var out []string
	for list, i := reflect.ValueOf(v), 0; i < list.Len(); i++ {
		out = append(out, w.value(name, list.Index(i).Interface()))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// TestCopyInterop copies the files of other implementations into every format:
// whatever they hold is kept, or on the list.
func TestCopyInterop(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "interop")
	var files []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		ext := strings.TrimPrefix(filepath.Ext(path), ".")
		if err == nil && slices.Contains(format.Names(), ext) && !strings.Contains(path, "reject") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Skip("no files of other implementations here")
	}
	for _, path := range files {
		m, err := format.Open(path, nil)
		if err != nil {
			t.Logf("%s is not read: %v", path, err)
			continue
		}
		if m.NeedsKey() {
			m.Close()
			continue
		}
		for _, to := range format.Writable() {
			t.Run(filepath.Base(path)+" to "+to, func(t *testing.T) {
				if items := copyTo(t, m, to); len(items) > 0 {
					t.Logf("%.300s", strings.Join(items, " "))
				}
			})
		}
		m.Close()
	}
}
