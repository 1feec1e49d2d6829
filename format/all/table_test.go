package all

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// A model with some of everything, as far as each format holds it, goes from each format to
// each. The documentation of package convert shows the table.

// order is that of the table. A .npy file holds one tensor, so it is no target for a model.
var order = []string{"mobi", "mag", "tsr", "mle", "wia", "safetensors", "gguf", "npz", "onnx"}

// letters stand for kinds of losses that -lossy accepts; of shapes it does scalars.
var letters = []struct{ kind, letter string }{
	{"metadata", "m"}, {"conversion", "c"}, {"quantization", "q"}, {"shape", "s"}, {"graph", "g"}, {"attribute", "g"}, {"value", "v"}, {"label", "l"}, {"name", "n"},
}

func everything() *format.Plan {
	q := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}}
	return &format.Plan{
		Metadata: format.Metadata{{Key: "author", Value: "me"}},
		Tensors: []tensor.Info{
			list(tensor.Float32, "fc.bias", 2, 3), {Name: "fc.weight", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: q}, list(tensor.Int32, "ids", 4),
		},
		Graph: &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(2, 3)}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(2, 3)}},
			Nodes: []format.Node{
				{Name: "scaled", Op: "Add", Inputs: []string{"x", "fc.weight"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "fc.bias"}, Outputs: []string{"y"}},
			},
		},
	}
}

// convertTo converts a model with all that a target may be asked for.
func convertTo(m *format.Model, path, to string, lossy bool) (*convert.Report, error) {
	o := &convert.Options{To: to, Lossy: lossy, Verify: true}
	o.NoSync = true
	o.Storage.Extended = to == "mag" // for int8
	return convert.Model(m, path, o)
}

func reopen(t *testing.T, path string) *format.Model {
	t.Helper()
	m, err := format.Open(path, &format.Options{Check: format.CheckAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// parameters returns the tensors that are parameters of quantization, which other formats have
// with the tensor that they are of.
func parameters(t *testing.T, m *format.Model) map[string]bool {
	t.Helper()
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := 0; g != nil && i < len(g.Nodes); i++ {
		if n := &g.Nodes[i]; n.Op == "DequantizeLinear" {
			for _, name := range n.Inputs[1:] {
				names[name] = true
			}
		}
	}
	return names
}

// bits returns what tensors hold, whatever they are called.
func bits(t *testing.T, m *format.Model) (all []string) {
	t.Helper()
	skip := parameters(t, m)
	for name, v := range m.Tensors() {
		if skip[name] {
			continue
		}
		b, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		info := v.Info()
		all = append(all, info.TypeName()+" "+string(b))
	}
	slices.Sort(all)
	return all
}

// TestTable: values are equal whatever else a target leaves out, names too but where
// that is said, and that table says what.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	first := source(t, "wia", everything())
	table := line("from \\ to", order)
	for _, from := range order {
		path := filepath.Join(dir, "source."+from)
		if _, err := convertTo(first, path, from, true); err != nil {
			t.Fatalf("source in %s: %v", from, err)
		}
		m := reopen(t, path)
		var cells []string
		for _, to := range order {
			cells = append(cells, cell(t, m, filepath.Join(t.TempDir(), "target."+to), to))
		}
		table += line(from, cells)
	}
	doc, err := os.ReadFile("../convert/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), table) {
		t.Errorf("the documentation of convert has another table than this:\n%s", table)
	}
}

// line is a line of the table in the documentation.
func line(head string, cells []string) string {
	text := fmt.Sprintf("//\t%-12s", head)
	for i, c := range cells {
		text += fmt.Sprintf("%-*s ", max(len(order[i]), 4), c)
	}
	return strings.TrimRight(text, " ") + "\n"
}

// cell converts a model and says what that costs.
func cell(t *testing.T, m *format.Model, path, to string) string {
	t.Helper()
	want := bits(t, m)
	lost := map[string]bool{}
	_, err := convertTo(m, path, to, false)
	var refused *format.LossError
	if errors.As(err, &refused) {
		for _, l := range refused.Losses {
			if !l.Acceptable && l.Kind != "shape" {
				t.Errorf("%s to %s: %s", m.Format(), to, l.Item())
			}
			lost[string(l.Kind)] = true
		}
		_, err = convertTo(m, path, to, true)
	}
	if err != nil {
		t.Errorf("%s to %s: %v", m.Format(), to, err)
		return ""
	}
	back := reopen(t, path)
	got := bits(t, back)
	if m.Format() == "onnx" { // whose parameters of quantization are just tensors elsewhere
		got = slices.DeleteFunc(got, func(s string) bool { return !slices.Contains(want, s) })
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("%s to %s: %s", m.Format(), to, d)
	}
	if !lost["name"] && to != "mobi" && m.Format() != "mobi" {
		skip := parameters(t, m)
		for name := range m.Tensors() {
			if _, err := back.Tensor(name); err != nil && !skip[name] {
				t.Errorf("%s to %s: %v", m.Format(), to, err)
			}
		}
	}
	said := ""
	for _, l := range letters {
		if lost[l.kind] && !strings.Contains(said, l.letter) {
			said += l.letter
		}
	}
	if said == "" {
		return "all"
	}
	return said
}
