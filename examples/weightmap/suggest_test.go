package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// pytorch writes a file as PyTorch's users save it, and more that some format lacks.
func pytorch(t *testing.T) {
	t.Helper()
	float := func(values ...float32) (b []byte) {
		for _, x := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	write := func(path string, meta format.Metadata, g *format.Graph, tensors map[string]tensor.Info, data map[string][]byte) {
		p := &format.Plan{Metadata: meta, Graph: g}
		for _, name := range []string{"conv.weight", "bn1.running_var", "bn1.num_batches_tracked", "a", "b", "it's"} {
			if i, ok := tensors[name]; ok {
				i.Name = name
				p.Tensors = append(p.Tensors, i)
			}
		}
		w, err := format.Create("", path, p, nil)
		must(t, err)
		for name, b := range data {
			must(t, w.WriteTensor(name, bytes.NewReader(b)))
		}
		must(t, w.Close())
	}
	pt := format.Metadata{{Key: "format", Value: "pt"}}
	write("model.safetensors", pt, nil, map[string]tensor.Info{
		"conv.weight": {DType: tensor.Float32, Shape: tensor.Shape{2, 2}}, "bn1.running_var": {DType: tensor.Float32, Shape: tensor.Shape{2}},
		"bn1.num_batches_tracked": {DType: tensor.Int64, Shape: tensor.Shape{}},
	}, map[string][]byte{"conv.weight": float(1, -2, 0.5, 3), "bn1.running_var": float(1, 1e-6), "bn1.num_batches_tracked": {9, 0, 0, 0, 0, 0, 0, 0}})
	write("large.safetensors", pt, nil, map[string]tensor.Info{"a": {DType: tensor.Float64, Shape: tensor.Shape{1, 1}}, "it's": {DType: tensor.Bool, Shape: tensor.Shape{1, 1, 1, 1, 1}}},
		map[string][]byte{"a": binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e300)), "it's": {1}})
	nan := float(1, float32(math.NaN()))
	write("nan.safetensors", nil, nil, map[string]tensor.Info{"a": {DType: tensor.Float32, Shape: tensor.Shape{1, 2}}, "b": {DType: tensor.Float32, Shape: tensor.Shape{1, 2}}},
		map[string][]byte{"a": nan, "b": nan})
	write("net.wia", format.Metadata{{Key: "author", Value: "me"}}, &format.Graph{
		Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(1, 2)}},
		Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(1, 2)}},
		Nodes:   []format.Node{{Op: "Erf", Inputs: []string{"x"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "a"}, Outputs: []string{"y"}}},
	}, map[string]tensor.Info{"a": {DType: tensor.Float32, Shape: tensor.Shape{1, 2}}, "b": {DType: tensor.Float32, Shape: tensor.Shape{1}}},
		map[string][]byte{"a": float(1, 2), "b": float(1)})
	write("m.mag", format.Metadata{{Key: "epoch", Value: int64(7)}}, nil, map[string]tensor.Info{"a": {DType: tensor.Float32, Shape: tensor.Shape{2}}}, map[string][]byte{"a": float(1, 2)})
}

// TestSuggestions runs what the refusals suggest, in a shell: it works.
func TestSuggestions(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	inPath(t)
	for _, tt := range []struct{ line, want string }{
		{"convert -quantize int8 model.safetensors o.mobi", "convert -lossy -quantize int8 model.safetensors o.mobi"},
		{"convert model.safetensors o.mag", ""},
		{"convert -lossy -quantize int8 model.safetensors o.mle", "convert -skip bn1.num_batches_tracked -lossy -quantize int8 model.safetensors o.mle"},
		{"convert -quantize int8 model.safetensors o.gguf", "convert -quantize q8_0 model.safetensors o.gguf"},
		{"convert -quantize q8_0 model.safetensors o.wia", "convert -quantize int8 model.safetensors o.wia"},
		{"convert -quantize int16 model.safetensors o.tsr", "convert -quantize int16 model.safetensors o.wia"},
		{"convert -o o.tsr model.safetensors -quantize=int8", "convert -o o.wia -quantize=int8 model.safetensors"},
		{"convert -quantize int8 -to npz model.safetensors o", ""},
		{"convert model.safetensors o.npy", ""},
		{"convert model.safetensors out", "convert -to safetensors model.safetensors out"},
		{"convert large.safetensors o.tsr", ""},
		{"convert large.safetensors o.mobi", ""},
		{"convert -dtype float16 large.safetensors o.wia", "convert -lossy -dtype float16 large.safetensors o.wia"},
		{"convert -skip a large.safetensors o.tsr", ""},
		{"convert -quantize int8 nan.safetensors o.wia", "convert -quantize-except b -quantize-except a -quantize int8 nan.safetensors o.wia"},
		{"convert net.wia o.mobi", "convert -lossy net.wia o.mobi"},
		{"convert -skip a net.wia o.onnx", "convert -lossy -skip a net.wia o.onnx"},
		{"convert -compress zstd net.wia o.onnx", "convert net.wia o.onnx"},
		{"convert -align 3 m.mag o.mag", "convert m.mag o.mag"},
		{"convert -external-from 1 -compress gzip -level 9 -lossy m.mag 'an o.mag'", "convert -lossy m.mag 'an o.mag'"},
		{"convert -only none m.mag o.wia", "inspect m.mag"},
		{"set m.mag o.mag author=Ada", ""},
		{"set m.mag o.wia epoch=8", "set m.mag o.mag epoch=8"},
		{"set -delete epoc m.mag o.mag", "inspect m.mag"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			pytorch(t)
			before, _ := os.ReadDir(".")
			status, text := shell(t, "weightmap "+tt.line)
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			line, ok := strings.CutPrefix(lines[len(lines)-1], "try: ")
			if after, _ := os.ReadDir("."); status == 0 || !ok || len(after) != len(before) {
				t.Fatalf("status %d, %d files, %s", status, len(after), text)
			}
			if diff := cmp.Diff("weightmap "+tt.want, line); tt.want != "" && diff != "" {
				t.Error(diff)
			}
			if status, text := shell(t, line); status != 0 {
				t.Errorf("%s: status %d: %s", line, status, text)
			}
			for _, name := range []string{"Options", "RawMessage", "AcceptLoss", "[float", "interface", "convert.", "format."} {
				if strings.Contains(text, name) {
					t.Errorf("a word of Go, %q: %s", name, text)
				}
			}
			t.Log(text)
		})
	}
}
