package format_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"

	_ "github.com/weightmap/weightmap/format/gguf"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/internal/expect"
)

func readModel() error {
	m, err := format.Open("model.safetensors", nil) // finds the format by content
	if err != nil {
		return err
	}
	defer m.Close()
	v, err := m.Tensor("fc.weight")
	if err != nil {
		return err
	}
	w, err := tensor.As[float32](v) // the mapping itself, valid until Close
	if err != nil {
		return err
	}
	fmt.Println(v.Shape(), w[0])
	return nil
}

func writeModel(ctx context.Context) error {
	weight, err := tensor.Of("fc.weight", tensor.Shape{2, 2}, []float32{1, 2, 3, 4})
	if err != nil {
		return err
	}
	return format.Save(ctx, "model.gguf", nil, []tensor.View{weight}, nil) // the format by the file's ending
}

// TestREADME runs the README's Go samples, which are the functions above.
func TestREADME(t *testing.T) {
	readme := expect.Read(t, filepath.Join("..", "README.md"))
	source := expect.Read(t, "readme_test.go")
	samples := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(samples) != 2 {
		t.Fatalf("README has %d samples, want one for reading and one for writing", len(samples))
	}
	for _, s := range samples {
		if s[1] != "go" || !strings.Contains(string(source), s[2]) {
			t.Errorf("this file does not have the README's sample:\n%s", s[2])
		}
	}
	t.Chdir(t.TempDir())
	expect.OK(t, writeModel(t.Context()))
	if err := os.Rename("model.gguf", "model.safetensors"); err != nil { // the content decides
		t.Fatal(err)
	}
	if err := readModel(); err != nil && !errors.Is(err, tensor.ErrByteOrder) { // which a big-endian host returns
		t.Fatal(err)
	}
}
