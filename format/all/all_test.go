package all_test

import (
	"errors"
	"maps"
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
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

const module = "github.com/weightmap/weightmap/"

// imported lists packages that a package imports: itself, or with what it imports in turn.
func imported(t *testing.T, pkg string, args ...string) []string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	out, err := exec.Command(tool, append(append([]string{"list"}, args...), module+pkg)...).Output()
	expect.OK(t, err)
	return strings.Fields(string(out))
}

// TestDependencies: a format links its own codecs and no other, and nothing
// that a program imports to read models brings in a web client, as the package
// that writes Brotli does. It sees the library through format and format/driver,
// neither the engine nor the mapping, and never another format.
func TestDependencies(t *testing.T) {
	every := []string{"brotli", "deflate", "gzip", "lz4", "zstd"}
	formats := map[string][]string{
		"mobi": {"gzip"}, "mag": nil, "tsr": nil, "mle": {"brotli", "lz4", "zstd"}, "wia": {"gzip", "zstd"},
		"format/npy": {"deflate"}, "format/safetensors": nil, "format/gguf": nil,
	}
	programs := map[string][]string{"format": nil, "format/convert": nil, "format/all": every, "format/mobile": every}
	maps.Copy(programs, formats)
	for pkg, want := range programs {
		deps := imported(t, pkg, "-deps")
		if !slices.Contains(deps, module+"tensor") {
			t.Fatalf("the list of %s lacks tensor: %q", pkg, deps)
		}
		var codecs []string
		for _, d := range deps {
			if name, ok := strings.CutPrefix(d, module+"internal/codec/"); ok {
				codecs = append(codecs, name)
			}
			if d == "net/http" || d == "crypto/tls" {
				t.Errorf("%s is among the dependencies of %s", d, pkg)
			}
		}
		slices.Sort(codecs)
		if diff := cmp.Diff(want, codecs); diff != "" {
			t.Errorf("codecs of %s (-want +got)\n%s", pkg, diff)
		}
	}
	for pkg := range formats {
		imports := imported(t, pkg, "-f", `{{join .Imports "\n"}}`)
		if !slices.Contains(imports, module+"format/driver") {
			t.Errorf("%s does not import format/driver", pkg)
		}
		for _, other := range append(slices.Collect(maps.Keys(formats)), "internal/source") {
			if slices.Contains(imports, module+other) {
				t.Errorf("%s imports %s", pkg, other)
			}
		}
	}
}

// TestBrotliWriter: without the package that writes Brotli, which nothing here
// imports, the error names it, and no file is left.
func TestBrotliWriter(t *testing.T) {
	dir := t.TempDir()
	s := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "w", 2)}}
	_, err := format.Create(filepath.Join(dir, "m.mle"), s, &format.WriteOptions{Compression: "brotli", Format: mle.Format{}})
	const want = `import _ "github.com/weightmap/weightmap/mle/brotli"`
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want ErrUnsupported and: %s", err, want)
	}
	unwritten(t, dir)
}

// TestFileOfAnotherFormat: File of gguf and onnx hold a model that anybody may put there.
func TestFileOfAnotherFormat(t *testing.T) {
	m, err := format.OpenBytes([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), nil) // safetensors
	expect.OK(t, err)
	defer m.Close()
	g := gguf.File{Model: m}
	if typed, err := g.Typed(); typed != nil || err != nil {
		t.Error("a model of another format has what GGUF has")
	}
	if o := (onnx.File{Model: m}); o.OperatorSets() != nil {
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
