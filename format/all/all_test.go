package all_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

const module = "github.com/weightmap/weightmap/"

// TestDependencies: a format links its own codecs and no other, and nothing
// that a program imports to read models brings in a web client, as the package
// that writes Brotli does.
func TestDependencies(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	every := []string{"brotli", "gzip", "lz4", "zstd"}
	tests := []struct {
		pkg    string
		codecs []string
	}{
		{"mobi", []string{"gzip"}},
		{"mag", nil},
		{"tsr", nil},
		{"mle", []string{"brotli", "lz4", "zstd"}},
		{"wia", []string{"gzip", "zstd"}},
		{"format/npy", nil},
		{"format/safetensors", nil},
		{"format", nil},
		{"format/convert", nil},
		{"format/gguf", nil},
		{"format/all", every},
		{"format/mobile", every},
	}
	for _, tt := range tests {
		t.Run(tt.pkg, func(t *testing.T) {
			out, err := exec.Command(tool, "list", "-deps", module+tt.pkg).Output()
			if err != nil {
				t.Fatal(err)
			}
			deps := strings.Fields(string(out))
			if !slices.Contains(deps, module+"tensor") {
				t.Fatalf("the list lacks tensor: %q", deps)
			}
			var codecs []string
			for _, d := range deps {
				if name, ok := strings.CutPrefix(d, module+"internal/codec/"); ok {
					codecs = append(codecs, name)
				}
				if d == "net/http" || d == "crypto/tls" {
					t.Errorf("%s is among the dependencies", d)
				}
			}
			slices.Sort(codecs)
			if diff := cmp.Diff(tt.codecs, codecs); diff != "" {
				t.Errorf("codecs (-want +got)\n%s", diff)
			}
		})
	}
}

// TestLayers: a format sees the library through format and format/driver, neither
// the engine nor the mapping, and never another format.
func TestLayers(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	formats := []string{"mobi", "mag", "tsr", "mle", "wia", "format/safetensors", "format/gguf"}
	for _, name := range formats {
		out, err := exec.Command(tool, "list", "-f", `{{join .Imports "\n"}}`, module+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		imports := strings.Fields(string(out))
		if !slices.Contains(imports, module+"format/driver") {
			t.Errorf("%s does not import format/driver", name)
		}
		for _, other := range append(formats, "internal/load", "internal/source") {
			if slices.Contains(imports, module+other) {
				t.Errorf("%s imports %s", name, other)
			}
		}
	}
}

// TestBrotliWriter: without the package that writes Brotli, which nothing here
// imports, the error names it, and no file is left.
func TestBrotliWriter(t *testing.T) {
	dir := t.TempDir()
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2}}}}
	_, err := mle.Create(filepath.Join(dir, "m.mle"), plan, &mle.WriteOptions{Compression: mle.MethodBrotli})
	const want = `import _ "github.com/weightmap/weightmap/mle/brotli"`
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want ErrUnsupported and: %s", err, want)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 || err != nil {
		t.Errorf("left behind: %q, %v", files, err)
	}
}

// TestFileOfAnotherFormat: File of gguf and onnx hold a model that anybody may put there.
func TestFileOfAnotherFormat(t *testing.T) {
	m, err := format.OpenBytes([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), nil) // safetensors
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g := gguf.File{Model: m}
	if _, ok := g.Value("general.alignment"); ok || g.Typed() != nil {
		t.Error("a model of another format has what GGUF has")
	}
	if o := (onnx.File{Model: m}); o.OperatorSets() != nil || o.IRVersion() != 0 {
		t.Error("a model of another format has what ONNX has")
	}
	if _, err := (&onnx.File{Model: m}).Strings("s"); !errors.Is(err, format.ErrNotFound) {
		t.Error(err)
	}
	if _, ok := gguf.From(m); ok {
		t.Error("it is a GGUF file")
	}
	if _, ok := onnx.From(m); ok {
		t.Error("it is an ONNX file")
	}
}
