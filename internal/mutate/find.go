package main

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// check is an operand of a condition whose branch refuses the input.
type check struct {
	pkg      string // directory
	fn       string // function, with its receiver
	text     string // the operand, with its number if the text repeats in the function
	file     string
	line     int
	from, to int     // offsets of the operand in the file
	name     string  // the package clause's name
	number   int     // its switch, from 1
	tests    []*test // those that trip it
	verdict  verdict
}

// key identifies a check in survivors.txt, independent of its line.
func (c *check) key() string { return c.pkg + "\t" + c.fn + "\t" + c.text }

func (c *check) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", c.file, c.line, c.fn, c.text)
}

// source is a parsed file of a package.
type source struct {
	path string
	text []byte
	*ast.File
}

// written matches files that only write: their input is a schema from the program.
var written = regexp.MustCompile(`(write|losses|_test)\.go$|/(sign|encode|options|quantize|numbering|rewrite)\.go$`)

// load parses the reading files of a package that are compiled on this system. Tests cannot miss a
// check that is not compiled.
func load(fset *token.FileSet, dir string) (all []source, err error) {
	p, err := gobuild.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	for _, name := range p.GoFiles {
		path := filepath.Join(dir, name)
		if written.MatchString(path) {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, path, b, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		all = append(all, source{path, b, f})
	}
	return all, nil
}

// findAll lists the checks of the chosen packages. It looks for functions that make errors in all
// packages, since they call each other.
func findAll(all, chosen []target) (checks []*check, err error) {
	fset := token.NewFileSet()
	sources := map[string][]source{}
	for _, t := range all {
		if sources[t.dir], err = load(fset, t.dir); err != nil {
			return nil, err
		}
	}
	// Functions of the standard library, and of readers that store their first error.
	r := refusals{
		"Errorf": true, "Error": true, "New": true, "Fail": true, "FailField": true, "Stop": true,
		"Bad": true, "BadField": true, "BadItem": true, "BadRecord": true, "bad": true,
	}
	for before := -1; before != len(r); {
		before = len(r)
		for _, files := range sources {
			for _, s := range files {
				r.learn(s)
			}
		}
	}
	for _, t := range chosen {
		for _, s := range sources[t.dir] {
			f := finder{source: s, pkg: t.dir, fset: fset, refusals: r}
			for _, d := range s.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					f.function(d)
				}
			}
			checks = append(checks, f.checks...)
		}
	}
	for i, c := range checks {
		c.number = i + 1
	}
	return checks, nil
}

// refusals holds the names of functions that only make or record errors.
type refusals map[string]bool

// learn adds the functions of a file whose returns are all new errors, and the types of errors. It
// goes by names, not types.
func (r refusals) learn(s source) {
	for _, d := range s.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Type.Results == nil {
			continue
		}
		results := f.Type.Results.List
		switch {
		case f.Recv != nil && f.Name.Name == "Error":
			r[receiver(f)] = true
		case types.ExprString(results[len(results)-1].Type) == "error" && r.alwaysRefuses(f.Body):
			r[f.Name.Name] = true
		}
	}
}

// alwaysRefuses reports whether all returns of a function are new errors.
func (r refusals) alwaysRefuses(body *ast.BlockStmt) bool {
	returns := 0
	made := 0
	ast.Inspect(body, func(n ast.Node) bool {
		if ret, ok := n.(*ast.ReturnStmt); ok {
			returns++
			if r.isRefusal(ret) {
				made++
			}
		}
		_, nested := n.(*ast.FuncLit)
		return !nested
	})
	return returns > 0 && returns == made
}

// isMade reports whether an expression makes an error.
func (r refusals) isMade(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		name := nameOf(e.Fun)
		isErrorf := strings.HasSuffix(name, "rrorf")
		return isErrorf || r[name] || slices.ContainsFunc(e.Args, r.isMade) // or wraps one
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && (r[nameOf(lit.Type)] || strings.HasSuffix(nameOf(lit.Type), "Error"))
	case *ast.Ident, *ast.SelectorExpr:
		name := nameOf(e)
		return len(name) > 3 && (strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err"))
	}
	return false
}

// nameOf returns the last name of an expression like a.b.c.
func nameOf(e ast.Expr) string {
	text := types.ExprString(ast.Unparen(e))
	return text[strings.LastIndexByte(text, '.')+1:]
}

func (r refusals) isRefusal(ret *ast.ReturnStmt) bool {
	return len(ret.Results) > 0 && r.isMade(ret.Results[len(ret.Results)-1])
}

// refuses reports whether a branch makes, records or returns an error.
func (r refusals) refuses(body []ast.Stmt) bool {
	for _, s := range body {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if r.isRefusal(s) {
				return true
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && r[nameOf(call.Fun)] {
				return true
			}
		case *ast.AssignStmt:
			if r.isMade(s.Rhs[len(s.Rhs)-1]) && strings.Contains(strings.ToLower(nameOf(s.Lhs[len(s.Lhs)-1])), "err") {
				return true
			}
		}
	}
	return false
}

// declines reports whether a branch only returns a negative answer, as parser helpers do when a
// number is out of range.
func declines(body []ast.Stmt) bool {
	if len(body) != 1 {
		return false
	}
	ret, ok := body[0].(*ast.ReturnStmt)
	return ok && slices.ContainsFunc(ret.Results, func(e ast.Expr) bool {
		text := types.ExprString(e)
		return text == "false" || text == "0" || text[0] == '-'
	})
}

// finder lists the checks of a file.
type finder struct {
	source
	pkg      string
	fset     *token.FileSet
	refusals refusals
	checks   []*check
}

// function lists the checks of a function.
func (f *finder) function(d *ast.FuncDecl) {
	name := d.Name.Name
	seen := map[string]int{}
	if d.Recv != nil {
		name = receiver(d) + "." + name
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if !isConversion(n) {
				f.condition(name, seen, n.Cond, n.Body.List)
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				c := c.(*ast.CaseClause)
				for _, cond := range c.List {
					if n.Tag == nil {
						f.condition(name, seen, cond, c.Body)
					}
				}
			}
		}
		return true
	})
}

// condition lists the operands of a condition whose branch refuses or declines.
func (f *finder) condition(fn string, seen map[string]int, cond ast.Expr, body []ast.Stmt) {
	refuses := f.refusals.refuses(body)
	if !refuses && !declines(body) {
		return
	}
	for _, o := range operands(cond) {
		if isPassedOn(o) || !refuses && !isOrdering(o) {
			continue
		}
		from := f.fset.Position(o.Pos())
		to := f.fset.Position(o.End())
		text := strings.Join(strings.Fields(string(f.text[from.Offset:to.Offset])), " ")
		if seen[text]++; seen[text] > 1 {
			text = fmt.Sprintf("%s #%d", text, seen[text])
		}
		f.checks = append(f.checks, &check{
			pkg: f.pkg, fn: fn, text: text, name: f.Name.Name,
			file: f.path, line: from.Line, from: from.Offset, to: to.Offset,
		})
	}
}

// isConversion reports whether an if statement tests the type of an error in order to add to it.
func isConversion(n *ast.IfStmt) bool {
	init, ok := n.Init.(*ast.AssignStmt)
	if !ok {
		return false
	}
	as, ok := init.Rhs[0].(*ast.TypeAssertExpr)
	return ok && nameOf(as.X) == "err" && nameOf(n.Cond) == "ok"
}

// receiver returns the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	name, _, _ := strings.Cut(types.ExprString(f.Recv.List[0].Type), "[")
	return strings.TrimPrefix(name, "*")
}

// operands splits a condition at ||. Each operand is a check.
func operands(e ast.Expr) []ast.Expr {
	if x, ok := e.(*ast.BinaryExpr); ok && x.Op == token.LOR {
		return append(operands(x.X), operands(x.Y)...)
	}
	return []ast.Expr{e}
}

// isPassedOn reports whether an operand tests an error that another function returned.
func isPassedOn(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return nameOf(e.Y) == "nil"
	case *ast.CallExpr:
		return nameOf(e.Fun) == "Is" || nameOf(e.Fun) == "As"
	}
	return false
}

// isOrdering reports whether an operand compares sizes.
func isOrdering(e ast.Expr) bool {
	is := false
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok {
			is = is || slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, b.Op)
		}
		return true
	})
	return is
}
