package main

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// load returns the public packages by path below the module, as compiled for one platform, and an
// importer of them and of their dependencies.
func load() (map[string]*types.Package, types.Importer, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	compiled := make(map[string]string)
	for l := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(l), " ")
		compiled[path] = file
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	packages := make(map[string]*types.Package)
	for path := range compiled {
		if name, ours := public(path); ours {
			if packages[name], err = imp.Import(path); err != nil {
				return nil, nil, err
			}
		}
	}
	return packages, imp, nil
}

// public returns a package's path below the module, and reports whether other modules can import it
// as a library.
func public(path string) (string, bool) {
	name, ours := strings.CutPrefix(path, module+"/")
	first, _, _ := strings.Cut(name, "/")
	return name, ours && first != "examples" && !slices.Contains(strings.Split(name, "/"), "internal")
}

// describe returns a sorted list of a package's exports, with one line for each constant, variable,
// function, type, exported field and method.
func describe(p *types.Package) (lines []string) {
	local := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			lines = append(lines, types.ObjectString(o, local)+" = "+o.Val().ExactString())
		case *types.TypeName:
			lines = append(lines, describeType(o, local)...)
		default:
			lines = append(lines, types.ObjectString(o, local))
		}
	}
	slices.Sort(lines)
	return lines
}

// describeType returns a type with its exported fields and methods.
func describeType(o *types.TypeName, local types.Qualifier) (lines []string) {
	t := o.Type()
	name := types.TypeString(t, local)
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		lines = append(lines, "type "+name+" "+types.TypeString(t.Underlying(), local))
	} else {
		lines = append(lines, "type "+name+" struct")
		for f := range s.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("type %s struct, %s", name, types.ObjectString(f, local)))
			}
		}
	}
	if types.IsInterface(t) {
		return lines
	}
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		// The methods of an exported embedded field are described with that field's type.
		if promoted := len(m.Index()) > 1 && s.Field(m.Index()[0]).Exported(); m.Obj().Exported() && !promoted {
			lines = append(lines, types.ObjectString(m.Obj(), local))
		}
	}
	return lines
}
