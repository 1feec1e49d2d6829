package trusted

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// apiFile lists the exports of the public packages. CI compares it with them.
const apiFile = "../api/api.txt"

// function is an exported function or method of a public package.
type function struct {
	name string // the package below the module, and the function: "format (*Model).At"
	line string
	decl *ast.FuncDecl
}

// handles are the types of models, leases and views, as api.txt writes them.
var handles = []string{"*Model", "*format.Model", "*File", "*Lease", "Lease", "View", "tensor.View", "*Tensor", "*Handle"}

// exported returns the exported functions and methods of the packages for programs.
func exported(t *testing.T) (list []function) {
	t.Helper()
	for line := range strings.Lines(string(expect.Read(t, apiFile))) {
		line = strings.TrimSpace(line)
		pkg, decl, _ := strings.Cut(line, ", ")
		if !strings.HasPrefix(decl, "func ") || slices.Contains([]string{"format/driver", "format/schema", "format/formattest"}, pkg) {
			continue
		}
		text := decl
		recv := ""
		if rest, ok := strings.CutPrefix(decl, "func ("); ok {
			typ, method, _ := strings.Cut(rest, ").")
			recv = "(" + typ + ")."
			text = "func (_ " + typ + ") " + method
		}
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		d := f.Decls[0].(*ast.FuncDecl)
		list = append(list, function{pkg + " " + recv + d.Name.Name, line, d})
	}
	if len(list) < 100 {
		t.Fatalf("%s lists %d functions", apiFile, len(list))
	}
	return list
}

// isDoor reports whether a result is a model, a lease or a view.
func (f *function) isDoor() bool { return hasHandle(f.decl.Type.Results) }

// takesModel reports whether the receiver or a parameter is a model, a lease or a view, or a function that takes one. What values
// print has no data (format/all), and models of mobile are not opened under trust.
func (f *function) takesModel() bool {
	prints := []string{"String", "GoString", "LogValue", "Format"}
	if f.decl.Recv != nil && slices.Contains(prints, f.decl.Name.Name) || strings.HasPrefix(f.name, "format/mobile ") {
		return false
	}
	return hasHandle(f.decl.Recv) || hasHandle(f.decl.Type.Params)
}

// hasHandle reports whether one of the types of a list is, or contains, that of a model, a lease or a view.
func hasHandle(fields *ast.FieldList) (found bool) {
	if fields == nil {
		return false
	}
	ast.Inspect(fields, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if ok && slices.Contains(handles, typeText(e)) {
			found = true
		}
		return true
	})
	return found
}

// typeText returns a type as api.txt writes it, if it is a name, or a pointer to one.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.SelectorExpr:
		return fmt.Sprintf("%s.%s", typeText(e.X), e.Sel.Name)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
