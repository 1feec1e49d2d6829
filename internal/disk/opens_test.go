package disk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// opening lists the functions that open a file by its name.
var opening = map[string][]string{
	"os":                       {"Open", "OpenFile", "ReadFile", "OpenRoot", "OpenInRoot", "DirFS", "CopyFS"},
	"syscall":                  {"Open", "Openat"},
	"golang.org/x/sys/unix":    {"Open", "Openat", "Openat2"},
	"golang.org/x/exp/mmap":    {"Open"},
	"io/ioutil":                {"ReadFile"},
	"golang.org/x/sys/windows": {"Open", "CreateFile"},
}

// mayOpen lists what may open files by name: directories (with a slash at the end) and files.
var mayOpen = map[string]string{
	"internal/source/":   "maps the model's own file, and the pages of the process",
	"internal/disk/":     "the rule of links, and files that are written",
	"format/signing/":    "bundles and the files that they sign, until the engine opens them",
	"internal/keys/":     "keys that the user names",
	"internal/expect/":   "tests",
	"internal/corpus/":   "tests",
	"internal/api/":      "sources of this module",
	"internal/mutate/":   "sources of this module",
	"internal/bench/":    "benchmarks",
	"internal/floor/":    "benchmarks: what they are compared with",
	"internal/peers/":    "other libraries",
	"examples/":          "programs: files that the user names",
	"format/formattest/": "tests",
}

// TestNothingElseOpens: a file of a model is opened by internal/disk, which knows where links may lead, or it is the one
// that the user has named, which internal/source opens. Nothing else opens a file by its name.
func TestNothingElseOpens(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	files := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && e.Name() != ".." {
			return fs.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		calls, err := opens(path)
		if err != nil || len(calls) == 0 {
			return err
		}
		for place := range mayOpen {
			if name == place || strings.HasSuffix(place, "/") && strings.HasPrefix(name, place) {
				used[place] = true
				return nil
			}
		}
		t.Errorf("%s has %q: open files of models through internal/disk, or say in mayOpen why not", name, calls)
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
	for place, why := range mayOpen {
		if !used[place] {
			t.Errorf("%s (%s) opens nothing by name: remove it from the list", place, why)
		}
	}
}

// opens returns the functions of opening that a file mentions.
func opens(path string) (calls []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	packages := map[string][]string{} // by the name in the file
	for _, i := range f.Imports {
		imported, _ := strconv.Unquote(i.Path.Value)
		name := imported[strings.LastIndexByte(imported, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if names, ok := opening[imported]; ok {
			packages[name] = names
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, name := range packages[pkg.Name] {
			if name == s.Sel.Name {
				calls = append(calls, pkg.Name+"."+name)
			}
		}
		return true
	})
	return calls, nil
}

// TestOpens: the test above finds calls, values and renamed imports.
func TestOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	text := "package x\nimport (\"os\"; m \"golang.org/x/exp/mmap\"; \"syscall\")\n" +
		"var f = os.OpenFile\nfunc g() { os.Open(\"\"); os.Stat(\"\"); m.Open(\"\"); syscall.Read(0, nil); x.os.ReadFile() }\n"
	expect.OK(t, os.WriteFile(path, []byte(text), 0o644))
	got, err := opens(path)
	expect.OK(t, err)
	expect.Equal(t, []string{"os.OpenFile", "os.Open", "m.Open"}, got)
}
