package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompare makes changes to a small package and expects the lines that are reported.
func TestCompare(t *testing.T) {
	const before = `package mag
type View struct{ Name string; data []byte }
func (View) Len() int { return 0 }
type Source interface{ Read(off int64) ([]byte, error) }
func As[T ~int8 | ~uint8](v View) ([]T, error) { return nil, nil }
const Max = 1 << 20
`
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"nothing changed", "View", "View", nil},
		{"unexported field", "data []byte", "size int", nil},
		{"new function", "const Max", "func Of() View { return View{} }\nconst Max", []string{"+ func Of() View"}},
		{"method that is gone", "func (View) Len() int { return 0 }", "", []string{"- func (View).Len() int"}},
		{"other result", "Len() int", "Len() int64", []string{"- func (View).Len() int", "+ func (View).Len() int64"}},
		{"other receiver", "(View) Len", "(*View) Len", []string{"- func (View).Len() int", "+ func (*View).Len() int"}},
		{"renamed field", "Name string", "Path string", []string{"- type View struct, field Name string", "+ type View struct, field Path string"}},
		{"method more in an interface", "Read(", "Size() int64; Read(", []string{
			"- type Source interface{Read(off int64) ([]byte, error)}", "+ type Source interface{Read(off int64) ([]byte, error); Size() int64}"}},
		{"narrower constraint", "~int8 | ~uint8", "~int8", []string{
			"- func As[T ~int8 | ~uint8](v View) ([]T, error)", "+ func As[T ~int8](v View) ([]T, error)"}},
		{"other value of a constant", "1 << 20", "1 << 10", []string{"- const Max untyped int = 1048576", "+ const Max untyped int = 1024"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compare(describe(checked(t, "mag", before)), describe(checked(t, "mag", strings.Replace(before, c.old, c.new, 1))))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// checked type-checks the source of a package of this module.
func checked(t *testing.T, name, src string) *types.Package {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "planted.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.Default()}
	p, err := config.Check(module+"/"+name, files, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
