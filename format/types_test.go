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
	"github.com/weightmap/weightmap/internal/expect"
)

var update = flag.Bool("update", false, "write the documentation of the aliases in types.go anew")

// TestTypes compares the documentation of the aliases in types.go with the declarations in packages
// driver and plan: an alias has the comment, fields and methods of its declaration, none of which go doc
// shows otherwise.
func TestTypes(t *testing.T) {
	src := expect.Read(t, "types.go")
	want := string(documented(t, src))
	if *update {
		expect.OK(t, os.WriteFile("types.go", []byte(want), 0o666))
	} else if diff := cmp.Diff(want, string(src)); diff != "" {
		t.Errorf("types.go differs from packages driver and plan: go test ./format -run Types -update\n%s", diff)
	}
}

// documented returns the source with each alias documented as its declaration is.
func documented(t *testing.T, src []byte) []byte {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "types.go", src, parser.ParseComments)
	expect.OK(t, err)
	var specs []*ast.TypeSpec
	ours := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Type.(*ast.SelectorExpr).X.(*ast.Ident).Name != "tensor" {
			specs = append(specs, s)
			ours[s.Name.Name] = true
		}
		return true
	})
	if len(specs) < 10 {
		t.Fatalf("types.go has %d aliases, there are more", len(specs))
	}
	types := map[string]declared{}
	declarations(t, "driver", types)
	declarations(t, "plan", types)
	var out bytes.Buffer
	end := 0
	for _, s := range specs {
		d, ok := types[s.Type.(*ast.SelectorExpr).X.(*ast.Ident).Name+"."+s.Name.Name]
		if !ok {
			t.Fatalf("no package has the type %s", s.Name)
		}
		out.Write(src[end:files.Position(s.Doc.Pos()).Offset])
		for l := range strings.Lines(d.Doc + "\n" + code(t, d, ours)) {
			out.WriteString(strings.TrimRight("// "+strings.Replace(l, "\t", "\b", 1), " \n"))
			out.WriteString("\n\t")
		}
		end = files.Position(s.Pos()).Offset
	}
	out.Write(src[end:])
	return bytes.ReplaceAll(out.Bytes(), []byte("// \b"), []byte("//\t"))
}

// declared is a type of a package.
type declared struct {
	*doc.Type
	pkg   string
	files *token.FileSet
}

// declarations adds the types of a package, by their qualified names.
func declarations(t *testing.T, dir string, types map[string]declared) {
	t.Helper()
	pkg := filepath.Base(dir)
	names, err := filepath.Glob(dir + "/*.go")
	expect.OK(t, err)
	files := token.NewFileSet()
	var all []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		expect.OK(t, err)
		all = append(all, f)
	}
	p, err := doc.NewFromFiles(files, all, "github.com/weightmap/weightmap/format/"+pkg)
	expect.OK(t, err)
	for _, d := range p.Types {
		types[pkg+"."+d.Name] = declared{d, pkg, files}
	}
}

// code returns the declaration of a type and its methods, each line behind a tab. Types that are
// not ours are qualified.
func code(t *testing.T, d declared, ours map[string]bool) string {
	t.Helper()
	var b bytes.Buffer
	show := func(n ast.Node) {
		qualify(n, d.pkg, ours)
		expect.OK(t, format.Node(&b, d.files, n))
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
	text := strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), " plan.", " ")
	return "\t" + strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n\t"), "\n\t\n", "\n\n") + "\n"
}

// qualify writes driver.Memory for Memory where a declaration names a type that is not ours.
func qualify(n ast.Node, pkg string, ours map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		var of ast.Node
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.TypeSpec:
			of = n.Type
		case *ast.FuncDecl:
			of = n.Type
		case *ast.Field:
			of = n.Type
		case *ast.Ident:
			if n.IsExported() && !ours[n.Name] {
				n.Name = pkg + "." + n.Name
			}
			return true
		default:
			return true
		}
		qualify(of, pkg, ours)
		return false
	})
}
