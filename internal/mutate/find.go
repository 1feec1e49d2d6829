package main

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
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
	from, to int    // offsets of the operand in the file
	name     string // the package clause's name
	caught   verdict
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
	file *ast.File
}

// written matches files that only write: their input is a plan from the program.
var written = regexp.MustCompile(`(write|losses|_test)\.go$|/(sign|encode|options|quantize|numbering|rewrite)\.go$`)

// load parses the reading files of a package that are compiled on this system. Tests cannot miss a
// check that is not compiled.
func load(fset *token.FileSet, dir string) ([]source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []source
	for _, p := range paths {
		if written.MatchString(p) {
			continue
		}
		if here, err := gobuild.Default.MatchFile(filepath.Split(p)); err != nil || !here {
			if err != nil {
				return nil, err
			}
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, p, b, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		all = append(all, source{p, b, f})
	}
	return all, nil
}

// refusals holds the names of functions that only make or record errors.
type refusals map[string]bool

// known returns those of the standard library and of readers that store their first error.
func known() refusals {
	return refusals{"Errorf": true, "Error": true, "New": true, "Fail": true, "Failf": true}
}

// learn adds a package's functions and closures whose returns are all new errors. It goes by names,
// not types, and repeats until it finds nothing new.
func (r refusals) learn(all []source) {
	for before := -1; before != len(r); {
		before = len(r)
		for _, s := range all {
			ast.Inspect(s.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv != nil && n.Name.Name == "Error" {
						r[receiver(n)] = true // an error type
					} else if n.Name.Name != "Unwrap" {
						r.consider(n.Name, n.Type, n.Body)
					}
				case *ast.AssignStmt:
					if f, ok := n.Rhs[0].(*ast.FuncLit); ok && len(n.Lhs) == 1 {
						if name, ok := n.Lhs[0].(*ast.Ident); ok {
							r.consider(name, f.Type, f.Body)
						}
					}
				}
				return true
			})
		}
	}
}

func (r refusals) consider(name *ast.Ident, t *ast.FuncType, body *ast.BlockStmt) {
	if body == nil || t.Results == nil || !isError(t.Results.List[len(t.Results.List)-1].Type) {
		return
	}
	returns, made := 0, 0
	each(body, func(n ast.Node) {
		if ret, ok := n.(*ast.ReturnStmt); ok {
			returns++
			if r.isRefusal(ret) {
				made++
			}
		}
	})
	if returns > 0 && returns == made {
		r[name.Name] = true
	}
}

// each visits the nodes of a function body, without nested functions.
func each(body ast.Node, f func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if n != nil {
			f(n)
		}
		return true
	})
}

func isError(t ast.Expr) bool {
	id, ok := t.(*ast.Ident)
	return ok && id.Name == "error"
}

// isMade reports whether an expression makes an error.
func (r refusals) isMade(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return r[nameOf(e.Fun)] || slices.ContainsFunc(e.Args, r.isMade) // or wraps one
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && (r[nameOf(lit.Type)] || strings.HasSuffix(nameOf(lit.Type), "Error"))
	case *ast.Ident, *ast.SelectorExpr:
		name := nameOf(e)
		return len(name) > 3 && (strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err"))
	}
	return false
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ParenExpr:
		return nameOf(e.X)
	}
	return ""
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

// declines reports whether a branch only returns a negative answer, as parser helpers do when a number
// is out of range.
func declines(body []ast.Stmt) bool {
	if len(body) != 1 {
		return false
	}
	ret, ok := body[0].(*ast.ReturnStmt)
	if !ok {
		return false
	}
	for _, e := range ret.Results {
		switch e := e.(type) {
		case *ast.Ident:
			if e.Name == "false" {
				return true
			}
		case *ast.BasicLit:
			if e.Value == "0" {
				return true
			}
		case *ast.UnaryExpr:
			if e.Op == token.SUB {
				return true
			}
		}
	}
	return false
}

// find lists the checks of a package.
func find(fset *token.FileSet, dir string, all []source, r refusals) []*check {
	var found []*check
	for _, s := range all {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			seen := map[string]int{}
			add := func(cond ast.Expr, body []ast.Stmt) {
				refuses, declines := r.refuses(body), declines(body)
				if !refuses && !declines {
					return
				}
				for _, o := range operands(cond) {
					if isPassedOn(o) || !refuses && !isOrdering(o) {
						continue
					}
					from, to := fset.Position(o.Pos()), fset.Position(o.End())
					text := strings.Join(strings.Fields(string(s.text[from.Offset:to.Offset])), " ")
					if seen[text]++; seen[text] > 1 {
						text = fmt.Sprintf("%s #%d", text, seen[text])
					}
					found = append(found, &check{filepath.ToSlash(dir), funcName(f), text, s.path, from.Line, from.Offset, to.Offset, s.file.Name.Name, ""})
				}
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.IfStmt:
					if !isConversion(n) {
						add(n.Cond, n.Body.List)
					}
				case *ast.SwitchStmt:
					if n.Tag != nil {
						break
					}
					for _, c := range n.Body.List {
						for _, cond := range c.(*ast.CaseClause).List {
							add(cond, c.(*ast.CaseClause).Body)
						}
					}
				}
				return true
			})
		}
	}
	return found
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

func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return receiver(f) + "." + f.Name.Name
}

func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return nameOf(t)
}

// operands splits a condition at ||. Each operand is a check.
func operands(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return operands(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.LOR {
			return append(operands(x.X), operands(x.Y)...)
		}
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

// isOrdering reports whether an operand compares sizes, or tests the overflow of a multiplication or
// addition.
func isOrdering(e ast.Expr) bool {
	is := false
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok {
			switch b.Op {
			case token.LSS, token.GTR, token.LEQ, token.GEQ:
				is = true
			}
			name := nameOf(b.X)
			is = is || name == "hi" || name == "carry"
		}
		return true
	})
	return is
}
