package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestComments: go doc answers for every exported function, method, field, constant and variable of a public package.
func TestComments(t *testing.T) {
	packages, _ := loaded(t)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		files := token.NewFileSet()
		paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(name), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var list []*ast.File
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, f)
		}
		for _, bare := range uncommented(t, files, list) {
			t.Errorf("%s: %s has no comment", name, bare)
		}
	}
}

// TestUncommented shows that each kind of declaration without a comment is found.
func TestUncommented(t *testing.T) {
	const src = `package p
// F has one.
func F() {}
func G() {}
// T has one.
type T struct {
	A int // has one
	// B has one.
	B int
	C, D int
	e int
}
func (T) M() {}
func (T) m() {}
// I has one.
type I interface {
	N()
}
type U int
// These have one.
const (
	K U = iota
	L
)
const O = 1
var V, w int
`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"G", "O", "T.C", "T.D", "I.N", "T.M", "U", "V"}
	got := uncommented(t, files, []*ast.File{f})
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// uncommented returns the exported names of a package that have no comment.
func uncommented(t *testing.T, files *token.FileSet, list []*ast.File) (bare []string) {
	t.Helper()
	p, err := doc.NewFromFiles(files, list, "p")
	if err != nil {
		t.Fatal(err)
	}
	see := func(name, text string) {
		if strings.TrimSpace(text) == "" {
			bare = append(bare, name)
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, s := range v.Decl.Specs {
				spec := s.(*ast.ValueSpec)
				for _, name := range spec.Names {
					if name.IsExported() {
						see(name.Name, v.Doc+spec.Doc.Text()+spec.Comment.Text())
					}
				}
			}
		}
	}
	functions := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			see(prefix+f.Name, f.Doc)
		}
	}
	values(append(p.Consts, p.Vars...))
	functions("", p.Funcs)
	for _, typ := range p.Types {
		see(typ.Name, typ.Doc)
		values(append(typ.Consts, typ.Vars...))
		functions("", typ.Funcs)
		functions(typ.Name+".", typ.Methods)
		for _, s := range typ.Decl.Specs {
			for _, f := range members(s.(*ast.TypeSpec)) {
				for _, name := range f.Names {
					if name.IsExported() {
						see(typ.Name+"."+name.Name, f.Doc.Text()+f.Comment.Text())
					}
				}
			}
		}
	}
	return bare
}

// members returns the fields of a struct or the methods of an interface.
func members(t *ast.TypeSpec) []*ast.Field {
	switch x := t.Type.(type) {
	case *ast.StructType:
		return x.Fields.List
	case *ast.InterfaceType:
		return x.Methods.List
	}
	return nil
}
