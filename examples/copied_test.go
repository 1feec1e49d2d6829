package examples

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

const (
	module   = "github.com/weightmap/weightmap"
	examples = module + "/examples/"
	copied   = "example.org/copy/"
)

// TestCopied copies each example, and the packages of examples that it imports, to a module of
// another name, as you would to start a program from it, and builds it there: an example imports
// only what programs outside of this module may import. It uses no network; a dependency that is
// not in the module cache skips the example.
func TestCopied(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	root, err := filepath.Abs("..")
	expect.OK(t, err)
	for _, name := range programs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, p := range packages(t, root, name) {
				copyPackage(t, root, p, dir)
			}
			copyModule(t, root, name, dir)
			c := exec.Command("go", "build", "-o", os.DevNull, "./...")
			c.Dir = dir
			c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
			out, err := c.CombinedOutput()
			if strings.Contains(string(out), "GOPROXY=off") {
				t.Skipf("a dependency is not in the module cache: %s", out)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestPrograms: README.md of the examples has each of them.
func TestPrograms(t *testing.T) {
	text := string(expect.Read(t, "README.md"))
	for _, name := range programs(t) {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "["+name+"]") {
			t.Errorf("README.md does not mention %s", name)
		}
	}
}

// TestRun runs the commands in README.md that are of this module: each explains a program.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	commands := regexp.MustCompile("`go run (\\./examples/[^`]*)`").FindAllStringSubmatch(string(expect.Read(t, "README.md")), -1)
	if len(commands) < 4 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, m := range commands {
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			c := exec.Command("go", append([]string{"run"}, strings.Fields(m[1])...)...)
			c.Dir = ".."
			out, err := c.Output()
			if err != nil || len(out) < 100 {
				t.Errorf("%v, %q", err, out)
			}
		})
	}
}

// shared are the directories that are no examples, but belong to several.
var shared = []string{"cli", "digits", "export", "internal"}

// programs returns the names of the examples.
func programs(t *testing.T) []string {
	entries, err := os.ReadDir(".")
	expect.OK(t, err)
	var names []string
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(shared, e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) < 13 {
		t.Fatalf("only %d examples: %q", len(names), names)
	}
	return names
}

// packages returns an example and the packages of examples that it imports.
func packages(t *testing.T, root, name string) []string {
	all := []string{name}
	for i := 0; i < len(all); i++ { // all grows
		dir := filepath.Join(root, "examples", filepath.FromSlash(all[i]))
		expect.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range f.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				other, ok := strings.CutPrefix(imported, examples)
				isCopied := slices.ContainsFunc(all, func(p string) bool { return other == p || strings.HasPrefix(other, p+"/") })
				if ok && !isCopied {
					all = append(all, other)
				}
			}
			return nil
		}))
	}
	return all
}

// copyPackage copies a directory of examples without its tests, which use helpers of this module.
func copyPackage(t *testing.T, root, name, dir string) {
	t.Helper()
	from := filepath.Join(root, "examples", filepath.FromSlash(name))
	expect.OK(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "_test.go") || d.Name() == "go.mod" || d.Name() == "go.sum" {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name), rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".go") {
			b = []byte(strings.ReplaceAll(string(b), examples, copied))
		}
		return os.WriteFile(to, b, 0o666)
	}))
}

// copyModule writes the go.mod and go.sum of a copied example.
func copyModule(t *testing.T, root, name, dir string) {
	t.Helper()
	from := filepath.Join(root, "examples", name)
	mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	text := string(mod)
	if err != nil { // a package of the main module
		from = root
		text = string(expect.Read(t, filepath.Join(root, "go.mod")))
		text += fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => ../..\n", module, module)
	}
	_, rest, _ := strings.Cut(text, "\n")
	text = "module " + strings.TrimSuffix(copied, "/") + "\n" + rest
	text = strings.ReplaceAll(text, "=> ../..", "=> "+root)
	text = strings.ReplaceAll(text, "=> ../", "=> "+filepath.Join(root, "examples")+"/")
	expect.OK(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666))
	sum := expect.Read(t, filepath.Join(from, "go.sum"))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666))
}
