package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestStreamedJSON: the text is that of encoding/json, which makes it whole.
func TestStreamedJSON(t *testing.T) {
	type whole struct {
		Path      string           `json:"path"`
		Format    string           `json:"format"`
		Version   string           `json:"version"`
		FileSize  int64            `json:"file_size"`
		Metadata  format.Metadata  `json:"metadata"`
		Tensors   []tensorReport   `json:"tensors"`
		Graph     *format.Graph    `json:"graph"`
		Signature *signatureReport `json:"signature"`
		Notes     []string         `json:"notes"`
	}
	when := "2024-02-29T23:59:58Z"
	graph := &format.Graph{
		Name:   "a<b>&\"c\"",
		Inputs: []format.ValueInfo{{Name: "<x>", DType: tensor.Float32, Dims: []format.Dim{{Symbol: "batch&"}, {Size: -1}}}, {}},
		Nodes: []format.Node{
			{},
			{Name: "<n>", Op: "If", Domain: "com.example&", Inputs: []string{"", "重み"}, Outputs: []string{"y\n"}, Attributes: []format.Attribute{
				{Name: "then>", Value: &format.Graph{Name: "<t>", Nodes: []format.Node{{Op: "Relu", Inputs: []string{"x"}}}}},
				{Name: "raw", Value: json.RawMessage(`{"a<": [1, {"b": "<"}], "c": {}}`)},
				{Name: "nan", Value: []float64{math.NaN(), 1}}, {Name: "none", Value: []int64{}},
			}},
		},
	}
	for name, r := range map[string]*report{
		"all": {
			Path: "a<b>.mag", Format: "mag", Version: "1", FileSize: 7, Notes: []string{"one & \"two\"", "<three>"},
			Metadata:  format.Metadata{{Key: "nodes", Value: json.RawMessage("[]")}, {Key: "<k>", Value: "<v>"}, {Key: "inf", Value: math.Inf(1)}},
			Tensors:   []tensorReport{{Name: "<w>", DType: "int8", Shape: []int64{}}, {Name: "v", Shape: []int64{2, 3}, Quantization: &quantizationReport{Scheme: "linear"}}},
			Signature: &signatureReport{Algorithm: "Ed25519", Time: &when}, Graph: graph,
		},
		"long nodes": {Notes: []string{}, Tensors: []tensorReport{}, Graph: &format.Graph{Nodes: []format.Node{
			{Name: "<n>", Op: "Add<", Inputs: []string{"重み<&>", strings.Repeat("x", 1<<16)}},
			{Domain: "com.example&", Outputs: slices.Repeat([]string{strings.Repeat("<", 1<<10)}, 64), Attributes: []format.Attribute{
				{Name: "a<", Value: int64(1)}, {Name: "then>", Value: &format.Graph{Name: "<t>"}},
			}},
		}}},
		"an empty graph": {Graph: &format.Graph{}, Notes: []string{}, Tensors: []tensorReport{}},
	} {
		for _, oneLine := range []bool{false, true} {
			var want, got bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			if !oneLine {
				e.SetIndent("", " ")
			}
			must(t, e.Encode(whole{r.Path, r.Format, r.Version, r.FileSize, r.Metadata, r.Tensors, r.Graph, r.Signature, r.Notes}))
			must(t, r.json(bufio.NewWriter(&got), oneLine))
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s, on one line: %v (-want +got):\n%s", name, oneLine, diff)
			}
		}
	}
	r := &report{Metadata: format.Metadata{{Key: "k", Value: json.RawMessage("{")}}}
	if err := r.json(bufio.NewWriter(&bytes.Buffer{}), false); err == nil {
		t.Error("no error for what is no JSON")
	}
}
