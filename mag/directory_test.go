package mag_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestMagDirectory is ../shared/cases/core/mag_dir.go.txt: a directory with one .mag file opens in a program that links
// no other format.
func TestMagDirectory(t *testing.T) {
	if names := format.Formats(); !slices.Equal(names, []string{"mag"}) {
		t.Fatalf("the test links %q", names)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "m.mag")
	v, err := tensor.Of("w", tensor.Shape{2}, []float32{1, 2})
	expect.OK(t, err)
	expect.OK(t, format.Save(path, "mag", v))
	m, err := format.Open(dir, nil)
	expect.OK(t, err)
	defer m.Close()
	expect.Equal(t, []any{path, 1}, []any{m.Path(), m.Len()})
	expect.OK(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), nil, 0o666))
	_, err = format.Open(dir, nil)
	const want = `: no driver for safetensors: import _ "github.com/weightmap/weightmap/format/safetensors", or format/all`
	if err == nil || err.Error() != filepath.Join(dir, "model.safetensors")+want {
		t.Errorf("%v, want ...%s", err, want)
	}
}
