package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestMetadataLimit is cases/anchors/small-vocab.gguf: 4,000 tokens do not fit 300 kB, which is an error of each command
// that shows or writes metadata, and not a file without metadata.
func TestMetadataLimit(t *testing.T) {
	var tokens []string
	for i := range 4000 {
		tokens = append(tokens, fmt.Sprint("t", i))
	}
	path := save(t, "small-vocab.gguf", format.Plan{Metadata: format.Metadata{
		{Key: "general.architecture", Value: "llama"}, {Key: "tokenizer.ggml.tokens", Value: tokens},
	}}, of("w", tensor.Float32, tensor.Shape{2}, []float32{1, 2}))
	target := filepath.Join(t.TempDir(), "out.gguf")
	for _, args := range [][]string{
		{"inspect", path}, {"inspect", "-json", path}, {"inspect", "-no-arrays", "-json", path}, {"inspect", "-html", path}, {"diff", path, path},
		{"set", path, target, "a=b"}, {"convert", path, target}, {"split", path, target},
	} {
		out, errs := tool(t, 1, append(args, "-max-memory", "300kB")...)
		contains(t, errs, path, "metadata: limit exceeded")
		if out != "" {
			t.Errorf("%v: %s", args, out)
		}
	}
	_, err := os.Stat(target)
	if !os.IsNotExist(err) {
		t.Error("a file was written: ", err)
	}
	out, _ := tool(t, 0, "inspect", "-max-memory", "400kB", path)
	contains(t, out, `general.architecture = "llama"`)
	out, _ = tool(t, 0, "verify", "-max-memory", "300kB", path) // which needs no metadata
	contains(t, out, path+": ok")
	expect.Equal(t, 51_000, len(expect.Read(t, path))/1000*1000)
}
