package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byOthers are methods called by package fmt, errors or encoding/json.
var byOthers = []string{"Error", "Format", "GoString", "LogValue", "MarshalJSON", "String", "Unwrap"}

// exempt maps functions and methods without an example to the reason.
var exempt = map[string]string{
	"format.Model.Own":             "for the packages of formats",
	"format.Register":              "for drivers: examples/customformat",
	"format/remote.Reader.Cancel":  "called by the model",
	"format/remote.Reader.Parsed":  "called by the model",
	"format/remote.Reader.Sibling": "called by the model",
	"format/signing.Policy.Paths":  "called by package live",
	"format/signing.Policy.Check":  "called by package format",
}

// TestExamples fails for a callable function or method of a stable package that no example shows: an
// example of that name, or a running example in the package that calls it.
func TestExamples(t *testing.T) {
	packages, imports := loaded(t)
	spared := 0
	for name, p := range packages {
		if slices.Contains(unstable, name) {
			continue
		}
		shown := examples(t, name, imports)
		for _, f := range functions(p) {
			base := f[strings.LastIndex(f, ".")+1:]
			switch {
			case exempt[name+"."+f] != "":
				spared++
			case shown[f] || base != f && slices.Contains(byOthers, base):
			case base == "Driver" && base != f: // called by package format
			case f == "From" && name != "mag": // every format has it; the example of mag shows it
			default:
				t.Errorf("%s.%s has no example", name, f)
			}
		}
	}
	if spared != len(exempt) {
		t.Errorf("%d of %d exemptions are used", spared, len(exempt))
	}
}

// function matches the line of a function or method: the type of a receiver, and the name.
var function = regexp.MustCompile(`^func (?:\(\*?(?:\w+\.)?(\w+).*?\)\.)?(\w+)`)

// functions lists the functions and methods that a package exports: "As", "View.Slice".
func functions(p *types.Package) (all []string) {
	for _, l := range describe(p) {
		if m := function.FindStringSubmatch(l); m != nil {
			all = append(all, strings.TrimPrefix(m[1]+"."+m[2], "."))
		}
	}
	return all
}

// examples returns the functions that a package's running examples call.
func examples(t *testing.T, name string, imports types.Importer) map[string]bool {
	t.Helper()
	names, err := filepath.Glob(path.Join(name, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, n := range names {
		f, err := parser.ParseFile(set, n, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name.Name, "_test") {
			files = append(files, f)
		}
	}
	// The importer lacks packages that only tests need. Examples do not use them.
	config := types.Config{Importer: imports, Error: func(error) {}}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	_, _ = config.Check(module+"/"+name+"_test", set, files, &info)
	shown := map[string]bool{}
	for _, e := range doc.Examples(files...) {
		if e.Output == "" && !e.EmptyOutput {
			continue
		}
		of, _, _ := strings.Cut(e.Name, "_")
		shown[of] = true
		if i := strings.Index(e.Name, "_"); i > 0 && token.IsExported(e.Name[i+1:]) {
			method, _, _ := strings.Cut(e.Name[i+1:], "_")
			shown[of+"."+method] = true
		}
		ast.Inspect(e.Code, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if f, ok := info.Uses[id].(*types.Func); ok && declaredIn(f, name) {
					shown[called(f)] = true
				}
			}
			return true
		})
	}
	return shown
}

// declaredIn reports whether a function belongs to a package, or to a type of driver that package
// format aliases.
func declaredIn(f *types.Func, name string) bool {
	p, _ := public(f.Pkg().Path())
	return p == name || name == "format" && slices.Contains(unstable, p)
}

// called returns a function's name, prefixed with the name of its receiver's type.
func called(f *types.Func) string {
	r := f.Signature().Recv()
	if r == nil {
		return f.Name()
	}
	t := r.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}
