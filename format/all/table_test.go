package all_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
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

func everything() *schema.Schema {
	q := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}}
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "author", Value: "me"}},
		Tensors: []tensor.Info{
			list(tensor.Float32, "fc.bias", 2, 3), {Name: "fc.weight", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: q}, list(tensor.Int32, "ids", 4),
		},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(2, 3)}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(2, 3)}},
			Nodes: []schema.Node{
				{Name: "scaled", Op: "Add", Inputs: []string{"x", "fc.weight"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "fc.bias"}, Outputs: []string{"y"}},
			},
		},
	}
}

// TestTable: the documentation of package convert says what each conversion costs, and the values that
// remain are equal, which convert verifies.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	first := source(t, "wia", everything())
	table := line("from \\ to", order)
	for _, from := range order {
		path := filepath.Join(dir, "source."+from)
		expect.OK(t, convertTo(first, path, from, true))
		m := open(t, path, nil)
		var cells []string
		for _, to := range order {
			cells = append(cells, cell(t, m, filepath.Join(t.TempDir(), "target."+to), to))
		}
		table += line(from, cells)
	}
	doc := expect.Read(t, "../convert/doc.go")
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

// convertTo converts a model with every option that some target needs.
func convertTo(m *format.Model, path, to string, lossy bool) error {
	target := &format.WriteOptions{
		Format:   formatNamed(to),
		NoSync:   true,
		Extended: to == "mag", // for int8
	}
	o := &convert.Options{Lossy: lossy, Verify: true, Write: target}
	_, err := convert.Model(context.Background(), m, path, o)
	return err
}

// cell converts a model and says what that costs.
func cell(t *testing.T, m *format.Model, path, to string) (said string) {
	t.Helper()
	var refused *schema.LossError
	err := convertTo(m, path, to, false)
	if !errors.As(err, &refused) {
		expect.OK(t, err)
		return "all"
	}
	lost := map[string]bool{}
	for _, l := range refused.Losses {
		if !l.Acceptable && l.Kind != "shape" {
			t.Errorf("%s to %s: %s", m.Format(), to, l.Item())
		}
		lost[string(l.Kind)] = true
	}
	if err := convertTo(m, path, to, true); err != nil {
		t.Errorf("%s to %s: %v", m.Format(), to, err)
	}
	for _, l := range letters {
		if lost[l.kind] && !strings.Contains(said, l.letter) {
			said += l.letter
		}
	}
	return said
}
