package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// newcomer makes the models of ../shared/cases/newcomer in the current directory: plain.safetensors,
// shards-safetensors and shards-gguf, and in lone one part of each.
func newcomer(t *testing.T) {
	t.Helper()
	weight, err := tensor.Of("fc.weight", tensor.Shape{64, 32}, make([]float32, 64*32))
	expect.OK(t, err)
	bias, err := tensor.Of("fc.bias", tensor.Shape{64}, make([]float32, 64))
	expect.OK(t, err)
	expect.OK(t, format.Save(t.Context(), "plain.safetensors", nil, []tensor.View{weight, bias}, nil))
	for _, dir := range []string{"shards-safetensors", "shards-gguf", "lone"} {
		expect.OK(t, os.Mkdir(dir, 0o755))
	}
	tool(t, 0, "split", "-max-shard", "4kB", "plain.safetensors", "shards-safetensors/model.safetensors")
	tool(t, 0, "split", "-max-shard", "4kB", "plain.safetensors", "shards-gguf/plain.gguf")
	for _, path := range []string{"shards-safetensors/model-00001-of-00002.safetensors", "shards-gguf/plain-00002-of-00002.gguf"} {
		expect.OK(t, os.WriteFile(filepath.Join("lone", filepath.Base(path)), expect.Read(t, path), 0o644))
	}
}

// TestParts is ../shared/cases/newcomer/shards-safetensors, shards-gguf and plain.safetensors: a part is opened as the whole
// model where that is there, and is refused as a model where not; no command replaces a part; set names its OUT.
func TestParts(t *testing.T) {
	const (
		shard  = "shards-safetensors/model-00001-of-00002.safetensors"
		index  = "shards-safetensors/model.safetensors.index.json"
		second = "shards-gguf/plain-00002-of-00002.gguf"
		first  = "shards-gguf/plain-00001-of-00002.gguf"
		lone   = "lone/model-00001-of-00002.safetensors"
		loneG  = "lone/plain-00002-of-00002.gguf"
	)
	whole := shard + " is part 1 of 2: opening the whole model, " + index
	for _, tt := range []struct {
		line      string
		status    int
		out, errs string // parts of what is printed
		tensors   int    // of the file that is written last on the line, -1 if it must not be there
	}{
		{"merge " + shard + " out.safetensors", 1, "", shard + " is only part 1 of 2\ntry: weightmap merge " + index + " out.safetensors\n", -1},
		{"merge " + index + " out.safetensors", 0, "out.safetensors: written (safetensors, 8.6 kB)", "", 2},
		{"convert " + shard + " out.gguf", 0, "out.gguf: written", whole, 2},
		{"convert " + second + " out.safetensors", 0, "written", second + " is part 2 of 2: opening the whole model, " + first, 2},
		{"convert -part " + shard + " out.gguf", 0, "written", "", 1},
		{"merge " + lone + " out.safetensors", 1, "", lone + " is only part 1 of 2 of a model, of which model-00002-of-00002.safetensors is not there: get the others, or use -part\n" +
			"try: weightmap merge -part " + lone + " out.safetensors\n", -1},
		{"merge -part " + lone + " out.safetensors", 0, "written", "", 1},
		{"merge " + loneG + " out.gguf", 1, "", "is only part 2 of 2 of a model, of which plain-00001-of-00002.gguf is not there", -1},
		{"merge -part " + loneG + " out.gguf", 0, "written", "", 1},
		{"verify " + lone, 0, lone + ": ok, but nothing covers the header or the data of 1 tensor (safetensors 1, part 1 of 2, 1 tensor, 328 bytes)", "", 0},
		{"verify " + loneG, 0, "(gguf 3, part 2 of 2, 1 tensor, 8.4 kB)", "", 0},
		{"verify " + shard + " shards-safetensors/model-00002-of-00002.safetensors", 0, "model-00002-of-00002.safetensors: part 2 of 2 of " + index + ", see above\n", whole, 0},
		{"inspect " + lone, 0, lone + ": safetensors 1, part 1 of 2, 1 tensor, 328 bytes\n", "", 0},
		{"inspect " + lone, 0, "note: part 1 of 2 of a model, of which model-00002-of-00002.safetensors is not there\n", "", 0},
		{"inspect -json " + loneG, 0, "\"part\": {\n  \"index\": 2,\n  \"count\": 2\n }", "", 0},
		{"inspect " + shard, 0, index + ": safetensors 1, 2 tensors, ", whole, 0},
		{"inspect -part " + shard, 0, "safetensors 1, part 1 of 2, 1 tensor", "", 0},
		{"diff " + shard + " plain.safetensors", 0, "equal: 2 tensors", whole, 0},
		{"diff " + lone + " plain.safetensors", 1, "part 1 of 2, 1 tensor", "", 0},
		{"cat -slice 0 " + shard + " fc.bias", 0, "0\n", whole, 0},
		{"merge " + index + " " + shard, 1, "", "it is a file of the model that is converted: replacing it would break that model\ntry: weightmap merge " + index + " shards-safetensors/model-new.safetensors\n", 1},
		{"merge plain.safetensors " + shard, 1, "", "it is part 1 of 2 of a model, which model.safetensors.index.json opens: replacing it would break that model", 1},
		{"merge " + first + " " + second, 1, "", "it is a file of the model that is converted", 1},
		{"merge " + first + " " + first, 1, "", "which plain-00001-of-00002.gguf opens: replacing it would break that model", 2},
		{"convert plain.safetensors " + first, 1, "", "try: weightmap convert plain.safetensors shards-gguf/plain-new.gguf\n", 2},
		{"set plain.safetensors author=Bob epoch=3", 2, "", "OUT is missing; it may be IN\n" +
			"try: weightmap set plain.safetensors plain.safetensors author=Bob epoch=3\n", -1},
		{"set plain.safetensors out.safetensors =b a=1", 2, "", "\"=b\" has no KEY\n" +
			"try: weightmap set plain.safetensors out.safetensors KEY=b a=1\n", 0},
		{"set plain.safetensors =b", 2, "", "try: weightmap set plain.safetensors plain.safetensors KEY=b\n", -1},
		{"set -delete x plain.safetensors", 2, "", "try: weightmap set -delete x plain.safetensors plain.safetensors\n", 2},
		{"set plain.safetensors", 2, "", "try: weightmap set plain.safetensors plain.safetensors KEY=VALUE\n", 2},
		{"set -o a=b plain.safetensors x=1", 2, "", "-o a=b does not name a model\n" +
			"try: weightmap set -o plain.safetensors plain.safetensors x=1\n", -1},
		{"set " + shard + " out.safetensors a=1", 0, "written", whole, 0},
		{"set plain.safetensors " + shard + " a=1", 1, "", "replacing it would break that model\ntry: weightmap set plain.safetensors shards-safetensors/model-new.safetensors a=1\n", 0},
		{"set " + lone + " out.safetensors a=1", 1, "", "try: weightmap set -part " + lone + " out.safetensors a=1\n", 0},
		{"set -part " + shard + " " + shard + " a=1", 0, "written", "", 0},
	} {
		t.Run(strings.ReplaceAll(tt.line, "/", "_"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			newcomer(t)
			words := strings.Fields(tt.line)
			out, errs := tool(t, tt.status, words...)
			contains(t, out, tt.out)
			contains(t, errs, tt.errs)
			if tt.errs == "" && errs != "" {
				t.Errorf("standard error: %s", errs)
			}
			last := words[len(words)-1]
			if tt.tensors < 0 {
				if _, err := os.Lstat(last); err == nil {
					t.Errorf("%s is there", last)
				}
			}
			if tt.tensors > 0 {
				m, err := format.Open(last, nil)
				expect.OK(t, err)
				defer m.Close()
				if diff := cmp.Diff(tt.tensors, m.Len()); diff != "" {
					t.Errorf("tensors of %s: %s", last, diff)
				}
			}
			// What comes after "try:" works.
			if _, try, found := strings.Cut(errs, "try: weightmap "); found {
				words := strings.Fields(try)
				status := 0
				if words[len(words)-1] == "plain.safetensors" && words[1] == "-delete" {
					status = 1 // there is no such entry
				}
				tool(t, status, words...)
			}
		})
	}
}

// TestChoice: the error of a place with several models, or with none that opens it, ends with a command that opens one.
func TestChoice(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		try   string
	}{
		{"several GGUF files", []string{"repo/m-Q4_0.gguf", "repo/m-Q8_0.gguf"}, "weightmap inspect repo/m-Q4_0.gguf"},
		{"a pipeline of diffusers", []string{"repo/unet/diffusion_pytorch_model.safetensors", "repo/vae/diffusion_pytorch_model.safetensors"}, "weightmap inspect repo/unet"},
		{"a Trainer's directory", []string{"repo/checkpoint-500/model.safetensors"}, "weightmap inspect repo/checkpoint-500"},
		{"a cache", []string{"repo/models--org--name/model.safetensors"}, "weightmap inspect repo/models--org--name"},
		{"a lost shard", []string{"repo/m-00001-of-00002.safetensors"}, "weightmap inspect repo/m-00001-of-00002.safetensors"},
		{"a name with a space", []string{"repo/a b.gguf", "repo/c.gguf"}, "weightmap inspect 'repo/a b.gguf'"},
		{"no model", []string{"repo/README.md.gguf/x"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, file := range tt.files {
				expect.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
				w, err := tensor.Of("w", tensor.Shape{1}, []float32{1})
				expect.OK(t, err)
				expect.OK(t, format.Save(t.Context(), "m.safetensors", nil, []tensor.View{w}, nil))
				expect.OK(t, os.Rename("m.safetensors", file))
			}
			_, errs := tool(t, 1, "inspect", "repo")
			_, try, _ := strings.Cut(errs, "\ntry: ")
			expect.Equal(t, tt.try, strings.TrimSuffix(try, "\n"))
			if tt.try != "" {
				words := strings.Fields(strings.ReplaceAll(tt.try, "'repo/a b.gguf'", "repo/a?b.gguf"))
				tool(t, 0, words[1], strings.ReplaceAll(words[2], "?", " "))
			}
		})
	}
}

// TestQuantizedDiffers is ../shared/cases/newcomer/net.onnx: diff compares the real numbers of a model that convert quantized, where
// DequantizeLinear nodes say which, and of weights with scales beside them.
func TestQuantizedDiffers(t *testing.T) {
	t.Chdir(t.TempDir())
	net := schema.Schema{Graph: &schema.Graph{
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 4)}},
		Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Nodes: []schema.Node{
			{Name: "fc", Op: "Gemm", Inputs: []string{"x", "w", "b"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "transB", Value: int64(1)}}},
		},
	}}
	put(t, "", "net.onnx", net, of("w", tensor.Float32, tensor.Shape{2, 4}, []float32{1, -2, 0.5, 0.25, 3, 4, -1, 0}), floats("b", 1, 2))
	tool(t, 0, "convert", "-quantize", "int8", "net.onnx", "q.onnx")
	out, errs := tool(t, 1, "diff", "net.onnx", "q.onnx")
	// Seven of eight numbers are no multiples of their row's scales, 2/127 and 4/127, in float32.
	want := `A  net.onnx: onnx 8, 2 tensors, 242 bytes
B  q.onnx: onnx 8, 4 tensors, 428 bytes

NAME  DIFFERS                    A             B          VALUES       MAX      MEAN    COSINE      NMSE  SATURATED
w     dtype, quantization, data  float32[2,4]  int8[2,4]  7 of 8  0.007874  0.003691  0.999997  6.56e-06    25.00 %

1 tensor differs
`
	if diff := cmp.Diff(want, out+errs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	tool(t, 0, "diff", "q.onnx", "q.onnx")

	// Two weights with one scale are two tensors. A weight with two scales is none of them: it stays as it is.
	dequantize := func(x, scale, y string) schema.Node {
		return schema.Node{Op: "DequantizeLinear", Inputs: []string{x, scale}, Outputs: []string{y}}
	}
	net.Graph.Nodes = []schema.Node{dequantize("w", "s", "wr"), dequantize("b", "s", "br"), {Op: "Add", Inputs: []string{"wr", "br"}, Outputs: []string{"y"}}}
	codes := func(name string, values ...int8) sample {
		return of(name, tensor.Int8, tensor.Shape{int64(len(values))}, values)
	}
	scale := func(name string, x float32) sample { return of(name, tensor.Float32, tensor.Shape{}, x) }
	put(t, "", "shared.onnx", net, codes("w", 1, 2), codes("b", 3, 4), scale("s", 0.5))
	put(t, "", "floats.safetensors", schema.Schema{}, floats("w", 0.5, 1), floats("b", 1.5, 2))
	out, _ = tool(t, 1, "diff", "floats.safetensors", "shared.onnx")
	contains(t, out, "0 of 2")
	if strings.Contains(out, "only in") {
		t.Errorf("the scale is not a part of both weights: %s", out)
	}
	net.Graph.Nodes = []schema.Node{dequantize("w", "s", "wr"), dequantize("w", "u", "br"), {Op: "Add", Inputs: []string{"wr", "br"}, Outputs: []string{"y"}}}
	put(t, "", "twice.onnx", net, codes("w", 1, 2), scale("s", 0.5), scale("u", 2))
	put(t, "", "half.safetensors", schema.Schema{}, floats("w", 0.5, 1))
	out, _ = tool(t, 1, "diff", "half.safetensors", "twice.onnx")
	contains(t, out, "only in B")

	// The same numbers as one tensor, and as int8 with a scale for each row.
	put(t, "", "joined.safetensors", schema.Schema{}, of("w.weight", tensor.Float32, tensor.Shape{2, 2}, []float32{0.5, -1, 4, 6}))
	put(t, "", "pair.safetensors", schema.Schema{}, of("w.weight", tensor.Int8, tensor.Shape{2, 2}, []int8{1, -2, 2, 3}), of("w.weight_scale", tensor.Float32, tensor.Shape{2, 1}, []float32{0.5, 2}))
	tool(t, 0, "diff", "joined.safetensors", "pair.safetensors")
	tool(t, 0, "diff", "pair.safetensors", "pair.safetensors")
	put(t, "", "other.safetensors", schema.Schema{}, of("w.weight", tensor.Float32, tensor.Shape{2, 2}, []float32{0.5, -1, 4, 7}))
	out, _ = tool(t, 1, "diff", "pair.safetensors", "other.safetensors")
	contains(t, out, "1 of 4    1  0.25")
}

// TestNamesPeopleType: options and names that people try, and what answers them.
func TestNamesPeopleType(t *testing.T) {
	for _, tt := range []struct {
		line      string
		status    int
		out, errs string // parts of what is printed
		file      string // "" or one that must not be there
	}{
		{"plain.safetensors", 0, "plain.safetensors: safetensors 1, 2 tensors", "", ""},
		{"shards-safetensors", 0, "shards-safetensors (model.safetensors.index.json): safetensors 1, 2 tensors", "", ""},
		{"inspect shards-gguf", 0, "shards-gguf (plain-00001-of-00002.gguf): gguf 3, 2 tensors", "", ""},
		{"missing.mle", 1, "", "missing.mle: no such file or directory\n", ""},
		{"frobnicate", 2, "", "unknown command or file \"frobnicate\"", ""},
		{"convert -dry-run plain.safetensors o.mle", 0, "o.mle: would be written (mle, 2 tensors)\n", "", "o.mle"},
		{"convert -dry-run plain.safetensors plain.safetensors", 0, "would be written (safetensors, 2 tensors), replacing the existing one\n", "", ""},
		{"convert -dry-run -to gguf plain.safetensors -", 0, "", "standard output: would be written (gguf, 2 tensors)\n", ""},
		{"convert -n plain.safetensors o.mle", 0, "o.mle: written", "", ""},
		{"convert -n plain.safetensors lone/model-00001-of-00002.safetensors", 1, "", "exists, and -n is set\ntry: weightmap convert -n plain.safetensors lone/model-new.safetensors\n", ""},
		{"split -n plain.safetensors shards-safetensors/model.safetensors", 1, "", "shards-safetensors/model.safetensors.index.json exists, and -n is set\n", ""},
		{"convert plain.safetensors -", 2, "", "writing to standard output needs -to FORMAT", "-"},
		{"convert -to mle -verify plain.safetensors -", 2, "", "-verify cannot read standard output again", "-"},
		{"split -to gguf plain.safetensors -", 2, "", "shards cannot go to standard output", "-"},
		{"set plain.safetensors - a=1", 2, "", "cannot write to standard output", "-"},
		{"inspect file:///m.safetensors", 2, "", "cannot read file:// addresses: use the path\ntry: weightmap inspect /m.safetensors\n", ""},
		{"inspect s3://user:secret@bucket/m.safetensors?token=secret", 2, "", "cannot read s3:// addresses: copy the file with aws s3 cp", ""},
		{"verify gs://bucket/m", 1, "", "cannot read gs:// addresses", ""},
		{"inspect oci://registry/model:tag", 2, "", "cannot read oci:// addresses: pull the artifact", ""},
		{"convert gopher://host/m.gguf o.mle", 2, "", "cannot read gopher:// addresses: use a path or an http, https or hf address", ""},
		{"verify -json plain.safetensors missing.mle", 1, `{"path":"plain.safetensors","ok":true,"format":"safetensors","version":"1",`, "missing.mle: no such file or directory\n", ""},
		{"verify -json plain.safetensors", 0, `"uncovered":[{"file":0,"offset":0,"bytes":`, "", ""},
		{"verify -json missing.mle", 1, `{"path":"missing.mle","ok":false,"error":"`, "missing.mle", ""},
		{"verify -json -v plain.safetensors", 2, "", "-json includes what -v lists", ""},
		{"info plain.safetensors", 2, "", "try: weightmap inspect plain.safetensors\n", ""},
		{"quantize plain.safetensors o.wia", 2, "", "try: weightmap convert -quantize int8 plain.safetensors o.wia\n", "o.wia"},
		{"plain.safetensors verify", 2, "", "files follow the command: plain.safetensors\ntry: weightmap verify plain.safetensors\n", ""},
		{"-json plain.safetensors", 2, "", "options follow the command: -json\ntry: weightmap inspect -json plain.safetensors\n", ""},
		{"-V", 2, "", "try: weightmap version\n", ""},
		{"inspect plain.safetensor", 1, "", "no such file or directory; did you mean plain.safetensors?\n", ""},
		{"inspect *.nothing", 1, "", "*.nothing: no file matches the pattern\n", ""},
		{"inspect -filter plain.safetensors", 2, "", "inspect needs a FILE: plain.safetensors is the value of -filter\nusage: ", ""},
		{"inspect org/name", 1, "", "hf://org/name opens it from the Hugging Face Hub\n", ""},
		{"cat plain.safetensors", 0, "fc.bias\nfc.weight\n", "", ""},
		{"cat w plain.safetensors", 1, "", "try: weightmap cat plain.safetensors w\n", ""},
		{"convert plain.safetensors o.pt", 2, "", "torch files can be read but not written\nanother format holds it: weightmap convert plain.safetensors o.safetensors\n", "o.pt"},
		{"convert plain.safetensors lone", 2, "", "lone is a directory: name a file in it\n", ""},
		{"convert -quantize plain.safetensors o.gguf", 2, "", "-quantize takes int8, q8_0, uint8, int16, float16, not \"plain.safetensors\"\n", "o.gguf"},
		{"convert -to NPZ -dry-run plain.safetensors o.x", 0, "o.x: would be written (npz, 2 tensors)\n", "", "o.x"},
		{"diff -json plain.safetensors shards-gguf", 0, `{"a":"plain.safetensors","b":"shards-gguf","equal":true,"tensors":[],"equal_bits":0,` +
			`"metadata":{"a":[],"b":[]},"graph":{"a":[],"b":[]},"docs":{"a":[],"b":[]},"native":{"a":[],"b":[]}}` + "\n", "", ""},
	} {
		t.Run(strings.ReplaceAll(tt.line, "/", "_"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			newcomer(t)
			out, errs := tool(t, tt.status, strings.Fields(tt.line)...)
			contains(t, out, tt.out)
			contains(t, errs, tt.errs)
			if strings.Contains(out+errs, "secret") {
				t.Errorf("a secret is printed: %s%s", out, errs)
			}
			if _, err := os.Lstat(tt.file); tt.file != "" && err == nil {
				t.Errorf("%s is there", tt.file)
			}
		})
	}
}

// TestToStandardOutput: what convert writes to standard output is the model, and nothing else.
func TestToStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	newcomer(t)
	for _, to := range []string{"safetensors", "gguf", "mle", "wia", "npz", "onnx", "mag"} {
		out, errs := tool(t, 0, "convert", "-to", to, "plain.safetensors", "-")
		contains(t, errs, "standard output: written ("+to+")\n")
		expect.OK(t, os.WriteFile("o."+to, []byte(out), 0o644))
		tool(t, 0, "diff", "plain.safetensors", "o."+to)
	}
}
