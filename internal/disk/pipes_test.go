//go:build linux || darwin

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// TestPipes: opening does not wait for the other end of a pipe, whatever leads to it.
func TestPipes(t *testing.T) {
	base := t.TempDir()
	lay(t, base, map[string]string{"model/w": "w", "model/link": "->pipe", "model/sub/link": "->../pipe", "model/out": "->../pipe"})
	expect.OK(t, syscall.Mkfifo(filepath.Join(base, "model", "pipe"), 0o666))
	expect.OK(t, syscall.Mkfifo(filepath.Join(base, "pipe"), 0o666))
	root, err := os.OpenRoot(base)
	expect.OK(t, err)
	defer root.Close()
	for door, d := range map[string]reader{
		"path":       OpenDir(filepath.Join(base, "model"), ""),
		"os.DirFS":   OpenFS(os.DirFS(base), "model", ""),
		"os.Root.FS": OpenFS(root.FS(), "model", ""),
	} {
		for _, name := range []string{"pipe", "link", "sub/link"} {
			linkCase{open: name, err: source.ErrNotRegular}.check(t, door+" "+name, d)
		}
		linkCase{open: "out", err: tensor.ErrUnsupported}.check(t, door+" out", d)
	}
	for _, name := range []string{"pipe", "link"} {
		_, _, err := OpenNamed(os.DirFS(filepath.Join(base, "model")), name)
		if !errors.Is(err, source.ErrNotRegular) {
			t.Errorf("OpenNamed of %s: %v", name, err)
		}
	}
	// A pipe that takes the place of a file after the check, and one that takes that of the directory.
	model, err := os.OpenRoot(filepath.Join(base, "model"))
	expect.OK(t, err)
	defer model.Close()
	_, _, err = openIn(model, "pipe")
	expect.Refused(t, source.ErrNotRegular, "openIn")(nil, err)
	_, err = OpenDir(filepath.Join(base, "pipe"), "").Stat("w")
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe as the directory: %v", err)
	}
}
