package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// checked is a package whose types are known.
type checked struct {
	set   *token.FileSet
	files []*ast.File
	info  *types.Info
}

// load checks the types of the package in a directory. Other packages are those that the go command
// has compiled.
func load(dir string) (*checked, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	compiled := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		compiled[path] = file
	}
	names, err := exec.Command("go", "list", "-f", "{{range .GoFiles}}{{$.Dir}}/{{.}}\n{{end}}", dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	c := &checked{set: token.NewFileSet()}
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		f, err := parser.ParseFile(c.set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) }
	return c, c.check(importer.ForCompiler(c.set, "gc", open))
}

// check finds out what each name in the files means.
func (c *checked) check(imports types.Importer) error {
	c.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	_, err := config.Check("p", c.set, c.files, c.info)
	return err
}

// arrowsOf returns which files use which: for each file those with a declaration that it names,
// sorted.
func arrowsOf(c *checked) map[string][]string {
	fileOf := func(p token.Pos) string { return filepath.Base(c.set.Position(p).Filename) }
	declared := map[types.Object]string{}
	for name, o := range c.info.Defs {
		if o != nil {
			declared[o] = fileOf(name.Pos())
		}
	}
	uses := map[string][]string{}
	for _, f := range c.files {
		uses[fileOf(f.Package)] = nil
	}
	for name, o := range c.info.Uses {
		from := fileOf(name.Pos())
		to, ok := declared[origin(o)]
		if ok && to != from && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	for _, list := range uses {
		slices.Sort(list)
	}
	return uses
}

// origin returns the declaration of a function, method or field of a generic type.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// order sorts files into levels: the files of a level use only files of lower ones. If that is
// impossible, it returns the files that are left, which use each other in a circle or use those
// that do.
func order(uses map[string][]string) (levels [][]string, circle []string) {
	level := map[string]int{}
	for len(level) < len(uses) {
		var next []string
		for file, list := range uses {
			_, isDone := level[file]
			isLeft := func(to string) bool { _, ok := level[to]; return !ok }
			if !isDone && !slices.ContainsFunc(list, isLeft) {
				next = append(next, file)
			}
		}
		if len(next) == 0 {
			for file := range uses {
				if _, ok := level[file]; !ok {
					circle = append(circle, file)
				}
			}
			slices.Sort(circle)
			return nil, circle
		}
		slices.Sort(next)
		for _, file := range next {
			level[file] = len(levels)
		}
		levels = append(levels, next)
	}
	return levels, nil
}
