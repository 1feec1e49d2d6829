package mag_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestMagDirectory is ../shared/cases/core/mag_dir.go.txt: a directory with one .mag file opens in a program that links
// no other format, and what a directory opens as does not depend on that.
func TestMagDirectory(t *testing.T) {
	if names := format.Names(); !slices.Equal(names, []string{"mag"}) {
		t.Fatalf("the test links %q", names)
	}
	v, err := tensor.Of("w", tensor.Shape{2}, []float32{1, 2})
	expect.OK(t, err)
	noDriver := func(name, path string) string {
		return ": no driver for " + name + `: import _ "github.com/weightmap/weightmap/` + path + `", or format/all`
	}
	for _, tt := range []struct {
		name   string
		others []string // beside m.mag, empty
		lone   bool     // without m.mag
		file   string   // that the error names, "" for the directory
		want   string   // the end of the error, "" for none
	}{
		{"a file", nil, false, "", ""},
		{"what tools leave", []string{"config.json", "tokenizer.model", "optimizer.pt", "rng_state_0.pth", "training_args.bin"}, false, "", ""},
		{"a file of a directory's format", []string{"v.tsr"}, false, "", ""},
		{"safetensors", []string{"model.safetensors"}, false, "model.safetensors", noDriver("safetensors", "format/safetensors")},
		{"torch", []string{"pytorch_model.bin"}, false, "pytorch_model.bin", noDriver("torch", "format/torch")},
		{"an adapter", []string{"adapter_model.bin"}, false, "adapter_model.bin", noDriver("torch", "format/torch")},
		{"diffusers", []string{"diffusion_pytorch_model.safetensors"}, false, "diffusion_pytorch_model.safetensors", noDriver("safetensors", "format/safetensors")},
		{"an index", []string{"x.safetensors.index.json"}, false, "x.safetensors.index.json", noDriver("safetensors", "format/safetensors")},
		{"an index of another name", []string{"x.index.json"}, false, "x.index.json", noDriver("safetensors", "format/safetensors")},
		{"an index of torch", []string{"x.bin.index.json"}, false, "x.bin.index.json", noDriver("torch", "format/torch")},
		{"one of another format", []string{"m.gguf"}, true, "m.gguf", noDriver("gguf", "format/gguf")},
		{"parts of another format", []string{"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}, true, "m-00001-of-00002.gguf", noDriver("gguf", "format/gguf")},
		{"a directory's format", []string{"m.tsr"}, true, "", noDriver("tsr", "tsr")},
		{"two", []string{"m.gguf"}, false, "", `several models: ["m.gguf" "m.mag"]; open one by its name, such as m.gguf`},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.mag")
		if !tt.lone {
			expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{v}, nil))
		}
		for _, name := range tt.others {
			expect.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		}
		m, err := format.Open(dir, nil)
		if tt.want == "" {
			expect.OK(t, err)
			expect.Equal(t, []any{path, 1}, []any{m.Path(), m.Len()})
			m.Close()
			continue
		}
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), filepath.Join(dir, tt.file)+": ") {
			t.Errorf("%s: %v, want %s%s", tt.name, err, filepath.Join(dir, tt.file), tt.want)
		}
		if !errors.Is(err, format.ErrUnknownFormat) && tt.name != "two" {
			t.Errorf("%s: %v, want ErrUnknownFormat", tt.name, err)
		}
	}
}
