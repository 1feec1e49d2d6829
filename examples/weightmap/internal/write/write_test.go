package write

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// models writes files called so with the tensors fc.weight and fc.bias, and changes into their
// directory.
func models(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		weight := expect.Must(tensor.Of("fc.weight", tensor.Shape{2, 32}, make([]float32, 64)))
		bias := expect.Must(tensor.Of("fc.bias", tensor.Shape{2}, []float32{1, 2}))
		expect.OK(t, format.Save(t.Context(), name, nil, []tensor.View{weight, bias}, nil))
	}
}

// TestNamed: people spell formats, methods and kinds in several ways.
func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"gguf": "gguf", "GGUF": "gguf", ".gguf": "gguf", "PyTorch": "torch", ".pt": "torch", "numpy": "npz", "frob": "frob", "": "",
	} {
		expect.Equal(t, want, formatNamed(name))
	}
	for name, want := range map[string]string{
		"gzip": "gzip", "gz": "gzip", "ZSTD": "zstd", "zst": "zstd", "br": "brotli", "lz4": "lz4", "": "", "rar": "", "gzp": "",
	} {
		got, err := compressionNamed(&Convert.Tool, name)
		expect.Equal(t, want, got)
		if (err != nil) != (want == "" && name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"int8": "int8", "I8": "int8", "q8": "q8_0", "Q8_0": "q8_0", "fp16": "float16", "half": "float16", "int4": "", "float32": "", "": "",
	} {
		expect.Equal(t, want, kindNamed(name))
	}
}

// TestKindsOf: which kinds of quantization a format has.
func TestKindsOf(t *testing.T) {
	for _, c := range []struct {
		to    string
		graph bool
		want  string
	}{
		{"gguf", false, "q8_0 float16"}, {"safetensors", true, "float16"}, {"wia", false, "int8 uint8 int16 float16"},
		{"mle", false, "int8 uint8 float16"}, {"onnx", false, "float16"}, {"onnx", true, "int8 uint8 float16"}, {"tsr", false, ""}, {"no", false, ""},
	} {
		expect.Equal(t, c.want, strings.Join(kindsOf(c.to, c.graph), " "))
	}
}

// TestOtherNames: names of files that suggestions make.
func TestOtherNames(t *testing.T) {
	models(t, "m.mag", "m-new.mag", "x-00001-of-00002.safetensors")
	for path, want := range map[string]string{
		"a.mag": "a-new.mag", "m.mag": "m-new2.mag", "d/x-00001-of-00002.gguf": "d/x-new.gguf", "x-00001-of-00002.safetensors": "x-new.safetensors", "a": "a-new",
	} {
		expect.Equal(t, want, beside(path))
	}
	for path, want := range map[string]string{"a.mag": "a.mag", "m.mag": "m-new2.mag"} {
		expect.Equal(t, want, free(path))
	}
	for path, want := range map[string]string{
		"a.safetensors": "a.gguf", "a": "a.gguf", "a.b": "a.b.gguf", "d/": "d.gguf", "a.pt": "a.gguf",
	} {
		expect.Equal(t, want, withEnding(path, "gguf"))
	}
}

// TestElsewhere: OUT in another format.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct{ out, kind, want string }{
		{"o.gguf", "wia", "another format holds it: weightmap convert in.mag o.wia"},
		{"o.wia", "wia", "another format holds it: weightmap convert in.mag o.wia"},
		{"o", "wia", "another format holds it: weightmap convert -to wia in.mag o"},
		{"d/", "npz", "another format holds it: weightmap convert -to npz in.mag d/"},
		{"d.tsr/", "npz", "another format holds it: weightmap convert in.mag d.npz"},
	} {
		o := &convertFlags{path: c.out}
		line := o.elsewhere(modelfile.CommandLine{Files: []string{"in.mag", c.out}}, c.kind)
		expect.Equal(t, c.want, modelfile.TryLine("convert", line))
	}
}

// TestPairs: arguments of set that were meant as KEY=VALUE.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		files string
		at    int
		want  string
	}{
		{"a.mag b.mag author Ada", 2, "a.mag b.mag author=Ada"},
		{"a.mag b.mag author Ada x=1", 2, "a.mag b.mag author=Ada x=1"},
		{"a.mag b.mag author:Ada", 2, "a.mag b.mag author=Ada"},
		{"a.mag b.mag url:http://x", 2, "a.mag b.mag url=http://x"},
		{"a.mag b.mag :Ada", 2, ""},
		{"a.mag b.mag author", 2, ""},
		{"a.mag b.mag author x=1", 2, ""},
	} {
		expect.Equal(t, c.want, strings.Join(pairMeant(strings.Fields(c.files), c.at), " "))
	}
	expect.Equal(t, "a.mag b.mag x=1 y=2", strings.Join(filesFirst(strings.Fields("x=1 a.mag y=2 b.mag")), " "))
}

// TestValues: VALUE is JSON, or else text, and a text stays a text.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		text      string
		old, want any
	}{
		{"7", nil, int64(7)}, {"7", 0.5, 7.0}, {"7", "x", "7"}, {`"7"`, "x", "7"}, {"0.5", nil, 0.5}, {"true", nil, true}, {"null", nil, nil},
		{"Ada", nil, "Ada"}, {`{"a":[1]}`, nil, json.RawMessage(`{"a":[1]}`)}, {"[1", nil, "[1"}, {"9223372036854775808", nil, 9223372036854775808.0},
	} {
		got, err := parseValue(c.text, c.old)
		expect.OK(t, err)
		expect.Equal(t, c.want, got)
	}
	_, err := parseValue("1e999", nil)
	if err == nil {
		t.Error("1e999 is a number")
	}
	e := &edit{remove: []string{"b"}, put: [][2]string{{"a", "2"}, {"c", "x"}}}
	got, err := e.apply(schema.Metadata{{Key: "a", Value: int64(1)}, {Key: "b", Value: "y"}})
	expect.OK(t, err)
	expect.Equal(t, schema.Metadata{{Key: "a", Value: int64(2)}, {Key: "c", Value: "x"}}, got)
	_, err = e.apply(nil)
	expect.Refused(t, format.ErrNotFound, "delete what is not there")(nil, err)
}

// TestPatterns: a pattern that matches no tensor is an error.
func TestPatterns(t *testing.T) {
	models(t, "m.safetensors")
	m, err := format.Open("m.safetensors", nil)
	expect.OK(t, err)
	defer m.Close()
	for _, c := range []struct {
		name string
		o    convertFlags
		err  string
	}{
		{"none", convertFlags{}, ""},
		{"some", convertFlags{only: modelfile.List{"fc.*"}, skip: modelfile.List{"*.bias"}, rename: modelfile.List{"fc.weight=w"}}, ""},
		{"only", convertFlags{only: modelfile.List{"fc"}}, `m: -only: no tensor matches "fc"`},
		{"skip", convertFlags{skip: modelfile.List{"x*"}}, `m: -skip: no tensor matches "x*"`},
		{"all", convertFlags{skip: modelfile.List{"*"}}, "m: -skip leaves no tensor"},
		{"renamed what is left out", convertFlags{skip: modelfile.List{"*.bias"}, rename: modelfile.List{"fc.bias=b"}}, `m: -rename: no tensor matches "fc.bias"`},
		{"quantized", convertFlags{quantizeOnly: modelfile.List{"y"}}, `m: -quantize-only: no tensor matches "y"`},
		{"not quantized", convertFlags{quantizeExcept: modelfile.List{"z"}}, `m: -quantize-except: no tensor matches "z"`},
	} {
		err := c.o.checkPatterns("m", modelfile.Named(m), modelfile.Matching(c.o.only, c.o.skip))
		text := ""
		if err != nil {
			text = err.Error()
		}
		expect.Equal(t, c.err, text)
	}
}

// TestSigners: MLE needs one kind of key, WIA another, and keygen makes what is missing.
func TestSigners(t *testing.T) {
	t.Chdir(t.TempDir())
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	expect.OK(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	for _, c := range []struct {
		kind   string
		signer crypto.Signer
		needs  string
	}{
		{"mle", edwards, ""}, {"mle", curve, "ed25519"}, {"wia", curve, ""}, {"wia", edwards, "ecdsa"}, {"gguf", edwards, ""},
	} {
		err := CheckSigner(c.kind, c.signer)
		needs := ""
		if refused, ok := err.(*SignerError); ok {
			needs = refused.Needs
		}
		expect.Equal(t, c.needs, needs)
	}
	expect.Equal(t, "try: weightmap keygen -type ecdsa key.pem pub.pem", MakeKey("ecdsa"))
	expect.OK(t, os.WriteFile("pub.pem", nil, 0o666))
	expect.Equal(t, "try: weightmap keygen -type ecdsa ecdsa-key.pem ecdsa-pub.pem", MakeKey("ecdsa"))
}

// TestRewrite: a model with other metadata has the same tensors, format and compression.
func TestRewrite(t *testing.T) {
	models(t, "m.mle", "m.wia", "m.gguf", "m.safetensors")
	for _, method := range []string{"zstd", "gzip"} {
		s, err := format.Open("m.wia", nil)
		expect.OK(t, err)
		p, err := s.Schema()
		expect.OK(t, err)
		w, err := format.Create(method+".wia", p, &format.WriteOptions{Compression: method})
		expect.OK(t, err)
		expect.OK(t, w.WriteModel(s))
		expect.OK(t, w.Close())
		expect.OK(t, s.Close())
	}
	for _, path := range []string{"m.mle", "m.wia", "zstd.wia", "gzip.wia", "m.gguf", "m.safetensors"} {
		m, err := format.Open(path, nil)
		expect.OK(t, err)
		defer m.Close()
		to := "new" + filepath.Ext(path)
		expect.OK(t, Rewrite(m, to, schema.Metadata{{Key: "author", Value: "Ada"}}, &format.WriteOptions{AcceptLoss: []string{"conversion"}}, nil))
		got, err := format.Open(to, nil)
		expect.OK(t, err)
		defer got.Close()
		meta, err := got.Metadata()
		expect.OK(t, err)
		text, _ := meta.Text("author")
		expect.Equal(t, []any{"Ada", m.Format(), m.Version(), m.Len()}, []any{text, got.Format(), got.Version(), got.Len()})
		for name, v := range m.Tensors() {
			other, err := got.Tensor(name)
			expect.OK(t, err)
			same := []any{v.Info().Compression, expect.Must(v.Digest())}
			expect.Equal(t, same, []any{other.Info().Compression, expect.Must(other.Digest())})
		}
	}
}

// TestUsageOfCommands: each command of the package says what is missing, with its usage.
func TestUsageOfCommands(t *testing.T) {
	for _, c := range []*modelfile.Command{Convert, Split, Merge, Set} {
		err := c.Run(t.Context(), &c.Tool, nil, &strings.Builder{}, &strings.Builder{})
		var errs strings.Builder
		if status := c.Status(err, &errs); status != cli.Misuse || !strings.HasPrefix(errs.String(), "weightmap: IN is missing\nusage: "+c.Name+" ") {
			t.Errorf("%s: %d, %s", c.Word(), status, &errs)
		}
	}
}
