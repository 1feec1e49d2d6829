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

// TestCompare makes changes to a small package: each is reported and fails the check.
func TestCompare(t *testing.T) {
	const before = `package mag
type View struct{ Name string; data []byte }
func (View) Len() int { return 0 }
func (*View) Use(f func(b []byte) error) error { return nil }
type Source interface{ Read(off int64) ([]byte, error) }
func As[T ~int8 | ~uint8](v View) ([]T, error) { return nil, nil }
const Max = 1 << 20
`
	for _, c := range []struct {
		name, old, new string
		pkg            string
		want           string
	}{
		{name: "nothing changed", pkg: "mag"},
		{"unexported field", "data []byte", "size int", "mag", ""},
		{"name of a parameter", "off int64", "at int64", "mag", ""},
		{"name of a parameter of a parameter", "f func(b []byte)", "f func([]byte)", "mag", ""},
		{"new function", "const Max", "func Of() View { return View{} }\nconst Max", "mag",
			"mag: new, run with -update\n\t+ func Of() View\n"},
		{"method that is gone", "func (View) Len() int { return 0 }", "", "mag",
			"mag: incompatible: the package is stable\n\t- method (View) Len() int\n"},
		{"other result", "Len() int", "Len() int64", "mag",
			"mag: incompatible: the package is stable\n\t- method (View) Len() int\n\t+ method (View) Len() int64\n"},
		{"other receiver", "(View) Len", "(*View) Len", "mag",
			"mag: incompatible: the package is stable\n\t- method (View) Len() int\n\t+ method (*View) Len() int\n"},
		{"renamed field", "Name string", "Path string", "mag",
			"mag: incompatible: the package is stable\n\t- type View struct, Name string\n\t+ type View struct, Path string\n"},
		{"method more in an interface", "Read(", "Size() int64; Read(", "mag",
			"mag: incompatible: the package is stable\n\t- type Source interface { Read }\n" +
				"\t+ type Source interface { Read, Size }\n\t+ type Source interface, Size() int64\n"},
		{"narrower constraint", "~int8 | ~uint8", "~int8", "mag",
			"mag: incompatible: the package is stable\n\t- func As[T ~int8 | ~uint8](View) ([]T, error)\n" +
				"\t+ func As[T ~int8](View) ([]T, error)\n"},
		{"other value of a constant", "1 << 20", "1 << 10", "mag",
			"mag: incompatible: the package is stable\n\t- const Max untyped int = 1048576\n\t+ const Max untyped int = 1024\n"},
		{"change of a package that may change", "Max = 1 << 20", "Min = 1", "format/driver",
			"format/driver: changed; the package may change: run with -update\n" +
				"\t- const Max untyped int = 1048576\n\t+ const Min untyped int = 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(before, c.old) {
				t.Fatalf("the package has no %q", c.old)
			}
			recorded := map[string][]string{c.pkg: describe(checked(t, c.pkg, before))}
			exported := map[string][]string{c.pkg: describe(checked(t, c.pkg, strings.Replace(before, c.old, c.new, 1)))}
			var b strings.Builder
			same := compare(&b, recorded, exported)
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Error(diff)
			}
			if same != (c.want == "") {
				t.Errorf("compare returned %v", same)
			}
		})
	}
}

// TestComparePackages adds and removes a package.
func TestComparePackages(t *testing.T) {
	var b strings.Builder
	if compare(&b, map[string][]string{"tsr": {"func Open()"}}, map[string][]string{"mag": {"func Open()"}}) {
		t.Error("the packages are the same")
	}
	want := "mag: new, run with -update\n\t+ func Open()\ntsr: incompatible: the package is stable\n\t- func Open()\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestAlias: if a type in an unstable package has an alias in a stable one, its fields and methods are
// API of the stable package.
func TestAlias(t *testing.T) {
	driver := checked(t, "format/driver", "package driver\ntype Plan struct{ Graph *int }\nfunc (*Plan) Check() error { return nil }\n")
	format := checked(t, "format", "package format\nimport \"github.com/weightmap/weightmap/format/driver\"\ntype Plan = driver.Plan\n", driver)
	want := []string{
		"method (*Plan) Check() error",
		"type Plan = driver.Plan",
		"type Plan struct",
		"type Plan struct, Graph *int",
	}
	if diff := cmp.Diff(want, describe(format)); diff != "" {
		t.Error(diff)
	}
}

// TestUpdate writes files and reads them back.
func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir, nil, map[string][]string{"mag": {"func A()"}, "tsr": {"func B()"}}); err != nil {
		t.Fatal(err)
	}
	recorded, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"mag": {"func A()", "func C()"}, "format/gguf": {"func D()"}}
	if err := write(dir, recorded, want); err != nil {
		t.Fatal(err)
	}
	got, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// checked type-checks the source of a package of this module.
func checked(t *testing.T, name, src string, imports ...*types.Package) *types.Package {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "planted.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: planted(imports)}
	p, err := config.Check(module+"/"+name, files, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// planted imports the packages of a test, and otherwise the standard library.
type planted []*types.Package

func (p planted) Import(path string) (*types.Package, error) {
	for _, pkg := range p {
		if pkg.Path() == path {
			return pkg, nil
		}
	}
	return importer.Default().Import(path)
}
