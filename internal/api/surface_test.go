package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSurface: a type has one name, what a value may offer is a declared interface, and an option has a type.
func TestSurface(t *testing.T) {
	t.Chdir("../..")
	files := token.NewFileSet()
	n := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n++
		for _, fault := range surfaceFaults(files, f) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil || n < 200 {
		t.Fatalf("%v after %d files", err, n)
	}
}

// TestSurfaceFaults shows that each fault is found.
func TestSurfaceFaults(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want []string
	}{
		{"type T struct{ A any }", nil},
		{"type T = int", []string{"p.go:2:6: T is an alias"}},
		{"type t = int", nil},
		{"func f(x any) bool { _, ok := x.(interface{ M() }); return ok }", []string{"p.go:2:31: an interface without a name is asserted"}},
		{"func f(x any) { switch x.(type) { case int, interface{ M() }: } }", []string{"p.go:2:45: an interface without a name is asserted"}},
		{"func f(x any) bool { _, ok := x.(error); return ok }", nil},
		{"type WriteOptions struct { A int; B, C any }", []string{"p.go:2:35: an option of type any"}},
		{"type options struct { A interface{} }", []string{"p.go:2:23: an option of type any"}},
		{"type Format struct { A []any }", []string{"p.go:2:22: an option of type any"}},
		{"type Options struct { A error }", nil},
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "p.go", "package p\n"+tt.src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, surfaceFaults(files, f)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.src, diff)
		}
	}
}

// surfaceFaults returns the faults of a file.
func surfaceFaults(files *token.FileSet, f *ast.File) (faults []string) {
	fault := func(n ast.Node, text string) { faults = append(faults, files.Position(n.Pos()).String()+": "+text) }
	const unnamed = "an interface without a name is asserted"
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if n.Assign.IsValid() && n.Name.IsExported() {
				fault(n, n.Name.Name+" is an alias")
			}
			for _, field := range optionsOf(n) {
				if isAny(field.Type) {
					fault(field, "an option of type any")
				}
			}
		case *ast.TypeAssertExpr:
			if _, ok := n.Type.(*ast.InterfaceType); ok {
				fault(n, unnamed)
			}
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if _, ok := e.(*ast.InterfaceType); ok {
						fault(e, unnamed)
					}
				}
			}
		}
		return true
	})
	return faults
}

// optionsOf returns the fields of a struct of options, such as WriteOptions, or Format of a format.
func optionsOf(t *ast.TypeSpec) []*ast.Field {
	s, ok := t.Type.(*ast.StructType)
	name := strings.ToLower(t.Name.Name)
	if !ok || !strings.HasSuffix(name, "options") && name != "format" && name != "config" {
		return nil
	}
	return s.Fields.List
}

// isAny reports whether a type is any, or a list or map of any.
func isAny(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "any"
	case *ast.InterfaceType:
		return true
	case *ast.ArrayType:
		return isAny(e.Elt)
	case *ast.MapType:
		return isAny(e.Value)
	}
	return false
}
