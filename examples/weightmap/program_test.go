package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/examples/weightmap/internal/inspect"
	"github.com/weightmap/weightmap/examples/weightmap/internal/write"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// asProgram is set where the test program is to be the tool itself.
const asProgram = "WEIGHTMAP_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// inPath has shells find the tool, as a link to the test program, and returns where.
func inPath(t *testing.T) string {
	t.Helper()
	testhost.NeedChildren(t)
	self, err := os.Executable()
	expect.OK(t, err)
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "weightmap")); err != nil {
		t.Skip(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(asProgram, "1")
	return filepath.Join(dir, "weightmap")
}

// shell runs a line in bash and returns its status and all that it printed.
func shell(t *testing.T, line string) (status int, text string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "bash", "-c", line)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// TestShell runs lines that people type.
func TestShell(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	inPath(t)
	m, s := expect.Read(t, model(t, "mag", "m.mag")), expect.Read(t, model(t, "safetensors", "m.safetensors"))
	for _, tt := range []struct {
		name, line string
		status     int
		want       string // at the end of what is printed, or all of it after a "="
	}{
		{"options behind files", "weightmap inspect m.mag -filter w -stats | grep -c '^w '", 0, "=1\n"},
		{"a file like an option", "cp m.mag ./-x; weightmap verify ./-x && weightmap verify -- -x", 0, "=./-x: ok (mag 1, 2 tensors, 384 bytes)\n-x: ok (mag 1, 2 tensors, 384 bytes)\n"},
		{"a file like an option, not said", "cp m.mag ./-x; weightmap verify -x", 2, "=weightmap: unknown option -x; for the file -x, write ./-x\nusage: weightmap verify [-v | -json] [-signature IN.sig] [-trust PUB.pem] [-key HEX] FILE...\n"},
		{"help", "weightmap help 2>&- | head -n 1", 0, "=usage: weightmap " + strings.Join(names(), "|") + " [arguments]\n"},
		{"help of a command", "weightmap help cat | head -n 1; weightmap cat --help | head -n 1", 0,
			"=usage: " + inspect.Cat.Name + " " + inspect.Cat.Args + "\nusage: " + inspect.Cat.Name + " " + inspect.Cat.Args + "\n"},
		{"a directory", "weightmap convert -lossy m.safetensors out.tsr/ && ls out.tsr", 0, "=out.tsr/: written (tsr, 148 bytes)\nlabels.tsr\nw.tsr\n"},
		{"a directory of another format", "weightmap convert m.safetensors out.mag/; ls", 0, "=weightmap: out.mag/ is a directory, but a mag model is a file\nusage: " + usage("convert") + "\nm.mag\nm.safetensors\n"},
		{"a directory that is missing", "weightmap convert m.safetensors no/such/m.mag", 1, "=weightmap: no/such: no such directory\n"},
		{"a key through a pipe", "mkfifo k; echo " + secretHex + " >k & weightmap convert m.safetensors -encrypt @k o.wia && weightmap verify -key @<(echo " + secretHex + ") o.wia", 0, "\no.wia: ok (wia 1.0, 2 tensors, 657 bytes)\n"},
		{"a key from a descriptor", "weightmap convert m.safetensors -encrypt @/dev/fd/3 o.wia 3<<<" + secretHex + " && weightmap cat -key @/dev/stdin o.wia labels <<<" + secretHex, 0, "\n9\n"},
		{"one pipe for two keys", "mkfifo k; weightmap convert m.safetensors -encrypt " + secretHex + " o.wia; echo " + secretHex + " >k & weightmap convert o.wia -key @k -encrypt @k p.wia >/dev/null && weightmap cat -key " + secretHex + " p.wia labels", 0, "\n9\n"},
		{"a public key through a pipe", "weightmap keygen -type ecdsa k p >/dev/null; weightmap convert m.safetensors -sign <(cat k) o.wia >/dev/null; weightmap verify -trust <(cat p) o.wia | cut -d: -f2 | cut -c1-9", 0, "= ok (wia \n"},
		{"too little memory", "weightmap inspect -max-memory 100B m.safetensors", 1, "; -max-memory allows 100\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for name, content := range map[string][]byte{"m.mag": m, "m.safetensors": s} {
				expect.OK(t, os.WriteFile(name, content, 0o666))
			}
			status, text := shell(t, tt.line)
			want, whole := strings.CutPrefix(tt.want, "=")
			if whole && text != want || !strings.HasSuffix(text, want) || status != tt.status {
				t.Errorf("status %d, want %d:\n%s", status, tt.status, cmp.Diff(want, text))
			}
		})
	}
}

// names lists the commands.
func names() (all []string) {
	for _, c := range commands {
		all = append(all, c.Word())
	}
	return all
}

// usage is how a command is called.
func usage(name string) string {
	for _, c := range commands {
		if c.Word() == name {
			return c.Name + " " + c.Args
		}
	}
	return ""
}

// pytorch writes a file as PyTorch's users save it, and more that some format lacks.
func pytorch(t *testing.T) {
	t.Helper()
	row := tensor.Shape{1, 2}
	pt := schema.Schema{Metadata: schema.Metadata{{Key: "format", Value: "pt"}}}
	put(t, "", "model.safetensors", pt, of("conv.weight", tensor.Float32, tensor.Shape{2, 2}, []float32{1, -2, 0.5, 3}),
		floats("bn1.running_var", 1, 1e-6), of("bn1.num_batches_tracked", tensor.Int64, tensor.Shape{}, int64(9)))
	put(t, "", "large.safetensors", pt, of("a", tensor.Float64, tensor.Shape{1, 1}, 1e300), of("it's", tensor.Bool, tensor.Shape{1, 1, 1, 1, 1}, true))
	put(t, "", "nan.safetensors", schema.Schema{}, of("a", tensor.Float32, row, []float32{1, nan}), of("b", tensor.Float32, row, []float32{1, nan}))
	put(t, "", "net.wia", schema.Schema{Metadata: schema.Metadata{{Key: "author", Value: "me"}}, Graph: &schema.Graph{
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Nodes:   []schema.Node{{Op: "Erf", Inputs: []string{"x"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "a"}, Outputs: []string{"y"}}},
	}}, of("a", tensor.Float32, row, []float32{1, 2}), floats("b", 1))
	put(t, "", "m.mag", schema.Schema{Metadata: schema.Metadata{{Key: "epoch", Value: int64(7)}}}, floats("a", 1, 2))
}

// TestSuggestions runs what the refusals suggest, in a shell: it works.
func TestSuggestions(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	inPath(t)
	for _, tt := range []struct{ line, want, makes string }{
		{"convert -quantize int8 model.safetensors o.mobi", "convert -lossy -quantize int8 model.safetensors o.mobi", "try"},
		{"convert model.safetensors o.mag", "", "try"},
		{"convert -lossy -quantize int8 model.safetensors o.mle", "convert -skip bn1.num_batches_tracked -lossy -quantize int8 model.safetensors o.mle", write.FewerTensors},
		{"convert -quantize int8 model.safetensors o.gguf", "convert -quantize q8_0 model.safetensors o.gguf", "try"},
		{"convert -quantize q8_0 model.safetensors o.wia", "convert -quantize int8 model.safetensors o.wia", "try"},
		{"convert -quantize int16 model.safetensors o.tsr", "convert -quantize int16 model.safetensors o.wia", write.ViaOtherFormat},
		{"convert -o o.tsr model.safetensors -quantize=int8", "convert -o o.wia -quantize=int8 model.safetensors", write.ViaOtherFormat},
		{"convert model.safetensors out", "convert -to safetensors model.safetensors out", "try"},
		{"convert large.safetensors o.tsr", "", write.FewerTensors},
		{"convert -dtype float16 large.safetensors o.wia", "convert -lossy -dtype float16 large.safetensors o.wia", "try"},
		{"convert -quantize int8 nan.safetensors o.wia", "convert -quantize-except b -quantize-except a -quantize int8 nan.safetensors o.wia", "try"},
		{"convert -skip a net.wia o.onnx", "convert -lossy -skip a net.wia o.onnx", "try"},
		{"convert -compress zstd net.wia o.onnx", "convert net.wia o.onnx", "try"},
		{"convert -external-from 1 -compress gzip -level 9 -lossy m.mag 'an o.mag'", "convert -lossy m.mag 'an o.mag'", "try"},
		{"convert -only none m.mag o.wia", "inspect m.mag", "try"},
		{"set m.mag o.wia epoch=8", "set m.mag o.mag epoch=8", "try"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			pytorch(t)
			before, _ := os.ReadDir(".")
			status, text := shell(t, "weightmap "+tt.line)
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			prefix, line, ok := strings.Cut(lines[len(lines)-1], ": ")
			if ok = ok && prefix == tt.makes; prefix == "try" {
				// It has the same target, and all tensors.
				ok = strings.Count(line, "-skip") == strings.Count(tt.line, "-skip")
			}
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
