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
		if f := strings.Fields(l); len(f) == 2 {
			compiled[f[0]] = f[1]
		}
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	packages := make(map[string]*types.Package)
	for path := range compiled {
		name, ours := public(path)
		if !ours {
			continue
		}
		if packages[name], err = imp.Import(path); err != nil {
			return nil, nil, err
		}
	}
	return packages, imp, nil
}

// public returns a package's path below the module, and reports whether other modules can import it as
// a library.
func public(path string) (string, bool) {
	name, ours := strings.CutPrefix(path, module+"/")
	first, _, _ := strings.Cut(name, "/")
	return name, ours && first != "examples" && !slices.Contains(strings.Split(name, "/"), "internal")
}

// describe returns a sorted list of a package's exports, with one line for each constant, variable,
// function, type, exported field and method.
func describe(p *types.Package) []string {
	d := describer{pkg: p}
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			d.object(o)
		}
	}
	slices.Sort(d.lines)
	return d.lines
}

// describer collects the lines of one package.
type describer struct {
	pkg   *types.Package
	lines []string
}

func (d *describer) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *describer) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		d.add("const %s %s = %s", o.Name(), d.text(o.Type()), o.Val().ExactString())
	case *types.Var:
		d.add("var %s %s", o.Name(), d.text(o.Type()))
	case *types.Func:
		d.add("func %s%s", o.Name(), d.signature(o.Signature()))
	case *types.TypeName:
		d.typeName(o)
	}
}

// typeName describes a type. An alias in a stable package of a type in an unstable one makes that
// type's members API of the stable package.
func (d *describer) typeName(o *types.TypeName) {
	if !o.IsAlias() {
		d.members(o.Name(), o.Type())
		return
	}
	t := types.Unalias(o.Type())
	d.add("type %s = %s", o.Name(), d.text(t))
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		if name, _ := public(n.Obj().Pkg().Path()); slices.Contains(unstable, name) {
			d.members(o.Name(), n)
		}
	}
}

// members describes a type's underlying type, fields and methods.
func (d *describer) members(name string, t types.Type) {
	if n, ok := t.(*types.Named); ok {
		name += d.parameters(n.TypeParams())
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		d.add("type %s struct", name)
		for f := range u.Fields() {
			switch {
			case f.Embedded() && f.Exported():
				d.add("type %s struct, embedded %s", name, d.text(f.Type()))
			case f.Exported():
				d.add("type %s struct, %s %s", name, f.Name(), d.text(f.Type()))
			}
		}
	case *types.Interface:
		d.iface(name, u)
		return
	default:
		d.add("type %s %s", name, d.text(u))
	}
	d.methods(name, t)
}

// iface describes an interface. Its first line lists all methods, since a new one breaks
// implementations.
func (d *describer) iface(name string, u *types.Interface) {
	if !u.IsMethodSet() {
		d.add("type %s %s", name, d.text(u))
		return
	}
	var all []string
	for m := range u.Methods() {
		all = append(all, m.Name())
		if m.Exported() {
			d.add("type %s interface, %s%s", name, m.Name(), d.signature(m.Signature()))
		}
	}
	d.add("type %s interface { %s }", name, strings.Join(all, ", "))
}

// methods describes the methods of a type, except those promoted from an exported embedded field,
// which are described with that field's type.
func (d *describer) methods(name string, t types.Type) {
	byValue := types.NewMethodSet(t)
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		f := m.Obj().(*types.Func)
		if !f.Exported() || promoted(t, m.Index()) {
			continue
		}
		receiver := "*" + name
		if byValue.Lookup(f.Pkg(), f.Name()) != nil {
			receiver = name
		}
		d.add("method (%s) %s%s", receiver, f.Name(), d.signature(f.Signature()))
	}
}

func promoted(t types.Type, index []int) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && len(index) > 1 && s.Field(index[0]).Exported()
}

// signature returns the parameters and results of a function, without their names.
func (d *describer) signature(s *types.Signature) string {
	return d.parameters(s.TypeParams()) + strings.TrimPrefix(d.text(s), "func")
}

// parameters returns the type parameters with their constraints, or "" for none.
func (d *describer) parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.Obj().Name()+" "+d.text(p.Constraint()))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// text returns a type in this package's notation.
func (d *describer) text(t types.Type) string {
	return types.TypeString(unnamed(t), func(p *types.Package) string {
		if p == d.pkg {
			return ""
		}
		return p.Name()
	})
}

// unnamed removes the names of parameters and results.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, unnamedAll(t.Params()), unnamedAll(t.Results()), t.Variadic())
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	}
	return t
}

func unnamedAll(list *types.Tuple) *types.Tuple {
	var all []*types.Var
	for v := range list.Variables() {
		all = append(all, types.NewParam(token.NoPos, nil, "", unnamed(v.Type())))
	}
	return types.NewTuple(all...)
}
