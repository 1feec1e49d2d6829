package all_test

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// entries are metadata with a value of each type, by format.
var entries = map[string]schema.Metadata{
	"mag": {{Key: "whole", Value: int64(-7)}, {Key: "real", Value: 0.5}, {Key: "five", Value: 5.0}, {Key: "tiny", Value: 1e-9}},
	"mle": {
		{Key: "text", Value: "me"}, {Key: "like", Value: "7"}, {Key: "whole", Value: int64(-7)}, {Key: "real", Value: json.Number("0.5")}, {Key: "five", Value: json.Number("5.0")},
		{Key: "digits", Value: json.Number("0.10")}, {Key: "large", Value: json.Number("18446744073709551615")}, {Key: "yes", Value: true}, {Key: "nothing", Value: nil},
		{Key: "mixed", Value: json.RawMessage(`["a",1]`)}, {Key: "object", Value: json.RawMessage(`{"k":[{}]}`)},
	},
	"gguf": {
		{Key: "text", Value: "me"}, {Key: "whole", Value: int64(-7)}, {Key: "real", Value: 0.5}, {Key: "five", Value: 5.0}, {Key: "yes", Value: false},
		{Key: "list", Value: json.RawMessage(`[1,2]`)}, {Key: "names", Value: json.RawMessage(`["a","b"]`)},
	},
}

// simple is a model of two tensors with the metadata of a format, with a graph where all formats of graphs have it.
func simple(name string, metadata, graph bool) *schema.Schema {
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "a", 3, 3), list(tensor.Float32, "b", 3, 3)}}
	if metadata {
		switch name {
		case "wia", "safetensors", "onnx":
			p.Metadata = entries["mle"]
		default:
			p.Metadata = entries[name]
		}
	}
	if graph {
		p.Graph = &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(3, 3)}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(3, 3)}},
			Nodes: []schema.Node{ // MOBI numbers values, and this one has the next number
				{Op: "Add", Inputs: []string{"x", "a"}, Outputs: []string{"3"}}, {Op: "Add", Inputs: []string{"3", "b"}, Outputs: []string{"y"}},
			},
		}
	}
	return p
}

// TestThereAndBack: a conversion from each format to each loses nothing and so does the way back, or it is refused with a list
// of what the format cannot hold.
func TestThereAndBack(t *testing.T) {
	withGraphs := []string{"mobi", "mle", "wia", "onnx"}
	withMetadata := map[string]string{ // the types of values that a format has
		"mag": "whole real five tiny", "gguf": "text like whole real five tiny large yes list names",
	}
	for _, all := range []string{"mle", "wia", "safetensors", "onnx"} {
		withMetadata[all] = withMetadata["gguf"] + " digits nothing mixed object"
	}
	for _, kind := range []string{"plain", "metadata", "graph", "metadata and graph"} {
		for _, from := range order {
			p := simple(from, strings.Contains(kind, "metadata"), strings.Contains(kind, "graph"))
			if p.Graph != nil && !slices.Contains(withGraphs, from) {
				continue
			}
			m := savedAs(t, p, from)
			want := expect.Got(t, func() (*schema.Schema, error) { return m.Schema() })
			expect.OK(t, m.RestoreNames(want))
			for _, to := range order {
				t.Run(kind+" "+from+" to "+to, func(t *testing.T) {
					var lost []string
					for _, e := range want.Metadata {
						own := e.Key == "ir_version" || e.Key == "opsets" // which every file of ONNX has
						if !own && !slices.Contains(strings.Fields(withMetadata[to]), e.Key) {
							lost = append(lost, "metadata:"+e.Key)
						}
					}
					if want.Graph != nil && !slices.Contains(withGraphs, to) {
						lost = append(lost, "graph")
					}
					slices.Sort(lost)
					there := filepath.Join(t.TempDir(), "there."+to)
					_, err := convert.Model(t.Context(), m, there, &convert.Options{Write: &format.WriteOptions{Format: formatNamed(to)}})
					expect.Equal(t, lost, itemsOf(err))
					if err != nil {
						return
					}
					back := filepath.Join(t.TempDir(), "back."+from)
					_, err = convert.File(t.Context(), there, back, &convert.Options{Write: &format.WriteOptions{Format: formatNamed(from)}})
					expect.OK(t, err)
					again := open(t, back, nil)
					got := expect.Got(t, func() (*schema.Schema, error) { return again.Schema() })
					expect.OK(t, again.RestoreNames(got))
					expect.Equal(t, want.Metadata, got.Metadata)
					expect.Equal(t, want.Graph, got.Graph)
					expect.Equal(t, dataByName(t, m, want), dataByName(t, again, got))
				})
			}
		}
	}
}

// savedAs writes a schema as a file of a format, with its original names.
func savedAs(t *testing.T, p *schema.Schema, to string) *format.Model {
	path := filepath.Join(t.TempDir(), "source."+to)
	first := source(t, "wia", p)
	_, err := convert.Model(t.Context(), first, path, &convert.Options{Lossy: true, Write: &format.WriteOptions{Format: formatNamed(to)}})
	expect.OK(t, err)
	return open(t, path, nil)
}

// dataByName returns the bytes of tensors by name.
func dataByName(t *testing.T, m *format.Model, p *schema.Schema) map[string]string {
	all := map[string]string{}
	for i, info := range p.Tensors {
		data, err := m.At(i).Bytes()
		expect.OK(t, err)
		all[info.Name] = info.DType.String() + string(data)
	}
	return all
}

// itemsOf returns the items of a LossError.
func itemsOf(err error) []string {
	var refused *schema.LossError
	if !errors.As(err, &refused) {
		return nil
	}
	all := map[string]bool{}
	for _, l := range refused.Losses {
		all[l.Item()] = true
	}
	return slices.Sorted(maps.Keys(all))
}
