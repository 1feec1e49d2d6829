package examples

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

const module = "github.com/weightmap/weightmap"

// TestCopied copies each example to a module of another name, as you would to start a program from
// it, and builds it there: an example imports only what programs outside of this module may import.
// It uses no network; a dependency that is not in the module cache skips the example.
func TestCopied(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	root, err := filepath.Abs("..")
	expect.OK(t, err)
	for _, name := range []string{
		"quickstart", "mle-convert", "mle-inspect", "tsr_info", "tsr_to_hdf5", "tsr_to_npy",
		"bucket", "customformat", "gomlx", "serve", "sigstore", "train",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyExample(t, root, name, dir)
			c := exec.Command("go", "vet", "./...")
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

// copyExample copies an example without its tests, which use helpers of this module.
func copyExample(t *testing.T, root, name, dir string) {
	t.Helper()
	from := filepath.Join(root, "examples", name)
	own := module + "/examples/" + name
	expect.OK(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".go") {
			b = []byte(strings.ReplaceAll(string(b), own, "example.org/copy"))
		}
		return os.WriteFile(to, b, 0o666)
	}))
	mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	text := string(mod)
	if err != nil { // a package of the main module
		text = string(expect.Read(t, filepath.Join(root, "go.mod")))
		text += fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => ../..\n", module, module)
		sum := expect.Read(t, filepath.Join(root, "go.sum"))
		expect.OK(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666))
	}
	_, rest, _ := strings.Cut(text, "\n")
	text = "module example.org/copy\n" + rest
	text = strings.ReplaceAll(text, "=> ../..", "=> "+root)
	text = strings.ReplaceAll(text, "=> ../", "=> "+filepath.Join(root, "examples")+"/")
	expect.OK(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666))
}
