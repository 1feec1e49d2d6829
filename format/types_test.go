package format_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the documentation of the aliases in types.go anew")

// TestTypes compares the documentation of the aliases in types.go with the declarations in package
// driver: an alias has the comment, fields and methods of its declaration, none of which go doc
// shows otherwise.
func TestTypes(t *testing.T) {
	src, err := os.ReadFile("types.go")
	if err != nil {
		t.Fatal(err)
	}
	want := string(documented(t, src))
	if *update {
		if err := os.WriteFile("types.go", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(src)); diff != "" {
		t.Errorf("types.go differs from package driver: go test ./format -run Types -update\n%s", diff)
	}
}

// documented returns the source with each alias documented as its declaration is.
func documented(t *testing.T, src []byte) []byte {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "types.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var specs []*ast.TypeSpec
	ours := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Type.(*ast.SelectorExpr).X.(*ast.Ident).Name == "driver" {
			specs = append(specs, s)
			ours[s.Name.Name] = true
		}
		return true
	})
	if len(specs) < 15 {
		t.Fatalf("types.go has %d aliases, there are more", len(specs))
	}
	driver, types := declarations(t)
	var out bytes.Buffer
	end := 0
	for _, s := range specs {
		d := types[s.Name.Name]
		if d == nil {
			t.Fatalf("package driver has no type %s", s.Name)
		}
		out.Write(src[end:files.Position(s.Doc.Pos()).Offset])
		for l := range strings.Lines(d.Doc + "\n" + code(t, driver, d, ours)) {
			out.WriteString(strings.TrimRight("// "+strings.Replace(l, "\t", "\b", 1), " \n"))
			out.WriteString("\n\t")
		}
		end = files.Position(s.Pos()).Offset
	}
	out.Write(src[end:])
	return bytes.ReplaceAll(out.Bytes(), []byte("// \b"), []byte("//\t"))
}

// declarations returns the types of package driver by name, and where they are.
func declarations(t *testing.T) (*token.FileSet, map[string]*doc.Type) {
	t.Helper()
	names, err := filepath.Glob("driver/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var all []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	p, err := doc.NewFromFiles(files, all, "github.com/weightmap/weightmap/format/driver")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*doc.Type{}
	for _, d := range p.Types {
		types[d.Name] = d
	}
	return files, types
}

// code returns the declaration of a type and its methods, each line behind a tab. Types that are
// not ours are qualified.
func code(t *testing.T, files *token.FileSet, d *doc.Type, ours map[string]bool) string {
	t.Helper()
	var b bytes.Buffer
	show := func(n ast.Node) {
		qualify(n, ours)
		if err := format.Node(&b, files, n); err != nil {
			t.Fatal(err)
		}
	}
	d.Decl.Doc = nil
	show(d.Decl)
	b.WriteString("\n")
	for _, m := range d.Methods {
		b.WriteString("\n")
		if m.Doc != "" {
			b.WriteString("// " + new(doc.Package).Synopsis(m.Doc) + "\n")
		}
		m.Decl.Doc, m.Decl.Body = nil, nil
		show(m.Decl)
		b.WriteString("\n")
	}
	return "\t" + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n\t"), "\n\t\n", "\n\n") + "\n"
}

// qualify writes driver.Memory for Memory where a declaration names a type that is not ours.
func qualify(n ast.Node, ours map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.TypeSpec:
			qualify(n.Type, ours)
			return false
		case *ast.FuncDecl:
			qualify(n.Type, ours)
			return false
		case *ast.Field:
			qualify(n.Type, ours)
			return false
		case *ast.Ident:
			if n.IsExported() && !ours[n.Name] {
				n.Name = "driver." + n.Name
			}
		}
		return true
	})
}
