// Budget counts lines of code and exported names, and fails if they exceed the limits. A change that
// raises a limit says why. In the module's root directory:
//
//	go run ./internal/budget
//
// A line of code is a line that is not blank and not only a comment. Generated files do not count.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

const module = "github.com/weightmap/weightmap/"

// tools are packages that tests and benchmarks share, and programs for developers of the library.
var tools = []string{"format/formattest", "internal/api", "internal/bench", "internal/budget", "internal/corpus", "internal/expect", "internal/floor", "internal/hostile", "internal/mutate",
	"internal/peers", "internal/testhost"}

// below lists the packages that package format depends on: they must not import it.
var below = []string{"tensor", "format/driver", "internal"}

// counts holds everything that has a budget.
type counts struct {
	lines      map[string]int            // by kind: "library", "kit and tools", "examples", "tests"
	packages   map[string]map[string]int // by directory and kind
	names      map[string]int            // exported, by directory
	interfaces map[string]int            // exported, by directory
	upward     []string                  // imports of package format from below
}

func main() {
	c := counts{map[string]int{}, map[string]map[string]int{}, map[string]int{}, map[string]int{}, nil}
	if err := fs.WalkDir(os.DirFS("."), ".", c.visit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if slices.Contains(os.Args[1:], "-packages") {
		for _, dir := range slices.Sorted(maps.Keys(c.packages)) {
			p := c.packages[dir]
			fmt.Printf("%-36s %6d code %6d tests\n", dir, p["code"], p["tests"])
		}
	}
	if !c.report() {
		os.Exit(1)
	}
}

// report prints every budget and reports whether all are met.
func (c *counts) report() bool {
	ok := true
	readme, _ := os.ReadFile("README.md")
	for _, b := range []struct {
		what       string
		have, most int
	}{
		{"lines of the library", c.lines["library"], 33000},
		{"lines of kit and tools", c.lines["kit and tools"], 4600},
		{"lines of tests", c.lines["tests"], 42000},
		{"exported names of format/driver", c.names["format/driver"], 230},
		{"interfaces of format/driver", c.interfaces["format/driver"], 14},
		{"exported names of format", c.names["format"], 170},
		{"exported names of tensor", c.names["tensor"], 150},
		{"imports of format from below", len(c.upward), 0},
		{"bytes of README.md", len(readme), 12000},
	} {
		verdict := ""
		if b.have > b.most {
			ok, verdict = false, ": too many"
		}
		fmt.Printf("%6d of %6d %s%s\n", b.have, b.most, b.what, verdict)
	}
	for _, u := range c.upward {
		fmt.Println("\t" + u)
	}
	return ok
}

// visit counts a file.
func (c *counts) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
		return fs.SkipDir
	}
	if d.IsDir() || path.Ext(name) != ".go" {
		return nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return err
	}
	dir := path.Dir(name)
	if c.packages[dir] == nil {
		c.packages[dir] = map[string]int{}
	}
	if strings.HasSuffix(name, "_test.go") {
		c.lines["tests"] += lines(src)
		c.packages[dir]["tests"] += lines(src)
		return nil
	}
	c.lines[kind(dir)] += lines(src)
	c.packages[dir]["code"] += lines(src)
	c.exported(dir, f)
	if within(dir, below) && !within(dir, tools) {
		for _, i := range f.Imports {
			if strings.Trim(i.Path.Value, `"`) == module+"format" {
				c.upward = append(c.upward, name)
			}
		}
	}
	return nil
}

func kind(dir string) string {
	switch {
	case within(dir, tools):
		return "kit and tools"
	case within(dir, []string{"examples"}):
		return "examples"
	}
	return "library"
}

// within reports whether dir is at or below one of the roots.
func within(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") })
}

// lines counts the lines with code.
func lines(src []byte) int {
	var s scanner.Scanner
	f := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(f, src, nil, 0)
	seen := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return len(seen)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		for l := 0; l <= strings.Count(text, "\n"); l++ {
			seen[f.Line(pos)+l] = true
		}
	}
}

// exported counts the exported names in a file: functions, methods of exported types, types, constants,
// variables, fields, and methods of interfaces.
func (c *counts) exported(dir string, f *ast.File) {
	ast.FileExports(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil || token.IsExported(receiver(n)) {
				c.names[dir]++
			}
			return false
		case *ast.FuncType:
			return false // the fields of which are parameters
		case *ast.InterfaceType:
			c.interfaces[dir]++
		case *ast.TypeSpec:
			c.names[dir]++
			n.TypeParams = nil
		case *ast.ValueSpec:
			c.names[dir] += len(n.Names)
			return false
		case *ast.Field:
			c.names[dir] += len(n.Names)
		}
		return true
	})
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	name, _, _ := strings.Cut(types.ExprString(d.Recv.List[0].Type), "[")
	return strings.TrimPrefix(name, "*")
}
