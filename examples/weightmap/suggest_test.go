package main

import (
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
	row := tensor.Shape{1, 2}
	pt := format.Plan{Metadata: format.Metadata{{Key: "format", Value: "pt"}}}
	put(t, "", "model.safetensors", pt, of("conv.weight", tensor.Float32, tensor.Shape{2, 2}, []float32{1, -2, 0.5, 3}),
		floats("bn1.running_var", 1, 1e-6), of("bn1.num_batches_tracked", tensor.Int64, tensor.Shape{}, int64(9)))
	put(t, "", "large.safetensors", pt, of("a", tensor.Float64, tensor.Shape{1, 1}, 1e300), of("it's", tensor.Bool, tensor.Shape{1, 1, 1, 1, 1}, true))
	put(t, "", "nan.safetensors", format.Plan{}, of("a", tensor.Float32, row, []float32{1, nan}), of("b", tensor.Float32, row, []float32{1, nan}))
	put(t, "", "net.wia", format.Plan{Metadata: format.Metadata{{Key: "author", Value: "me"}}, Graph: &format.Graph{
		Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(1, 2)}},
		Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(1, 2)}},
		Nodes:   []format.Node{{Op: "Erf", Inputs: []string{"x"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "a"}, Outputs: []string{"y"}}},
	}}, of("a", tensor.Float32, row, []float32{1, 2}), floats("b", 1))
	put(t, "", "m.mag", format.Plan{Metadata: format.Metadata{{Key: "epoch", Value: int64(7)}}}, floats("a", 1, 2))
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
		{"convert model.safetensors out", "convert -to safetensors model.safetensors out"},
		{"convert large.safetensors o.tsr", ""},
		{"convert -dtype float16 large.safetensors o.wia", "convert -lossy -dtype float16 large.safetensors o.wia"},
		{"convert -quantize int8 nan.safetensors o.wia", "convert -quantize-except b -quantize-except a -quantize int8 nan.safetensors o.wia"},
		{"convert -skip a net.wia o.onnx", "convert -lossy -skip a net.wia o.onnx"},
		{"convert -compress zstd net.wia o.onnx", "convert net.wia o.onnx"},
		{"convert -external-from 1 -compress gzip -level 9 -lossy m.mag 'an o.mag'", "convert -lossy m.mag 'an o.mag'"},
		{"convert -only none m.mag o.wia", "inspect m.mag"},
		{"set m.mag o.wia epoch=8", "set m.mag o.mag epoch=8"},
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
