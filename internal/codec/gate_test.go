package codec_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

// codecPaths are the import paths of libraries that decompress, and of what is below them.
var codecPaths = []string{"compress", "github.com/klauspost/compress", "github.com/pierrec/lz4", "github.com/andybalholm/brotli", "github.com/dsnet/compress"}

// compressorsOnly are packages that import a library of codecPaths to compress, with all that they use of it.
var compressorsOnly = map[string][]string{"mle/brotli": {"brotli.NewWriterLevel"}}

// around lists what a file does that only this package and those below it may do: import a codec, and decompress
// without Data, DataInto, DataTo, Section or Prefix.
func around(file *ast.File, dir string) (found []string) {
	names := map[string]bool{} // of imported codecs
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		isCodec := slices.ContainsFunc(codecPaths, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
		if !isCodec {
			continue
		}
		if _, ok := compressorsOnly[dir]; !ok {
			found = append(found, "imports "+path)
		}
		names[path[strings.LastIndexByte(path, '/')+1:]] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, _ := s.X.(*ast.Ident)
		of, _ := s.X.(*ast.SelectorExpr)
		switch {
		case s.Sel.Name == "DecodeInto" || s.Sel.Name == "DecodeTo":
			found = append(found, "calls "+s.Sel.Name)
		case s.Sel.Name == "NewReader" && of != nil && of.Sel.Name == "Codec":
			found = append(found, "calls Codec.NewReader")
		case id != nil && names[id.Name] && !slices.Contains(compressorsOnly[dir], id.Name+"."+s.Sel.Name):
			found = append(found, "uses "+id.Name+"."+s.Sel.Name)
		}
		return true
	})
	return found
}

// TestGate: nothing in the module decompresses but this package.
func TestGate(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel == "internal/codec" || name == "testdata" || rel != "." && name[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, what := range around(file, strings.TrimSuffix(rel, "/"+d.Name())) {
			t.Errorf("%s %s: decompress with package codec", rel, what)
		}
		return nil
	})
	expect.OK(t, err)
	if files < 100 {
		t.Errorf("only %d files", files)
	}
}

// TestGateFinds plants what TestGate looks for.
func TestGateFinds(t *testing.T) {
	for _, tt := range []struct {
		dir, imports, body string
		want               []string
	}{
		{"wia", `"compress/zlib"`, "zlib.NewReader(nil)", []string{"imports compress/zlib", "uses zlib.NewReader"}},
		{"wia", `"github.com/klauspost/compress/zstd"`, "", []string{"imports github.com/klauspost/compress/zstd"}},
		{"wia", `"github.com/weightmap/weightmap/internal/codec/gzip"`, "gzip.Codec.NewReader()", []string{"calls Codec.NewReader"}},
		{"wia", `"io"`, "z.DecodeTo(io.Discard, b, 5); z.DecodeInto(b, b)", []string{"calls DecodeTo", "calls DecodeInto"}},
		{"mle/brotli", `"github.com/andybalholm/brotli"`, "brotli.NewWriterLevel(nil, 5)", nil},
		{"mle/brotli", `"github.com/andybalholm/brotli"`, "brotli.NewReader(nil)", []string{"uses brotli.NewReader"}},
	} {
		src := fmt.Sprintf("package p\n\nimport %s\n\nfunc f() { %s }\n", tt.imports, tt.body)
		file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
		expect.OK(t, err)
		if d := cmp.Diff(tt.want, around(file, tt.dir)); d != "" {
			t.Errorf("%s (-want +got)\n%s", src, d)
		}
	}
}
