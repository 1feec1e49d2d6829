package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format/schema"
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
	path := save(t, "small-vocab.gguf", schema.Schema{Metadata: schema.Metadata{
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

// TestSharded is cases/anchors/sharded: inspect gives the size of a model, not that of its index, lists the files, and says
// in which of them each tensor is.
func TestSharded(t *testing.T) {
	t.Chdir(t.TempDir())
	four := []sample{}
	for _, name := range []string{"a", "b", "c", "d"} {
		four = append(four, of(name, tensor.Float32, tensor.Shape{16}, make([]float32, 16)))
	}
	put(t, "safetensors", "whole.safetensors", schema.Schema{}, four...)
	tool(t, 0, "split", "-max-shard", "150", "whole.safetensors", "m.safetensors")
	const index = "m.safetensors.index.json"
	files := []any{}
	total := 0
	for _, path := range []string{index, "m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"} {
		size := len(expect.Read(t, path))
		total += size
		files = append(files, map[string]any{"path": path, "size": float64(size)})
	}
	r := inspectJSON(t, index)
	expect.Equal(t, any(float64(total)), r["file_size"])
	expect.Equal(t, any(files), r["files"])
	var places []any
	for _, one := range r["tensors"].([]any) {
		places = append(places, one.(map[string]any)["file"])
	}
	expect.Equal(t, []any{1.0, 1.0, 2.0, 2.0}, places)
	size := fmt.Sprintf("4 tensors, %s", cli.Size(int64(total)))
	out, _ := tool(t, 0, "inspect", index)
	contains(t, out, size, "FILE", "m-00001-of-00002.safetensors    0x80")
	out, _ = tool(t, 0, "verify", index)
	contains(t, out, size)
	// The directory, and an address.
	out, _ = tool(t, 0, "inspect", ".")
	contains(t, out, size)
	past := time.Now().Add(-time.Minute)
	for _, f := range files {
		path := f.(map[string]any)["path"].(string)
		expect.OK(t, os.Chtimes(path, past, past)) // a file that has just been written has no version
	}
	s := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer s.Close()
	for _, f := range files {
		f.(map[string]any)["path"] = s.URL + "/" + f.(map[string]any)["path"].(string)
	}
	r = inspectJSON(t, s.URL+"/"+index)
	expect.Equal(t, any(float64(total)), r["file_size"])
	expect.Equal(t, any(files), r["files"])

	// One file has no "file", nor has a directory that is no file of the model.
	r = inspectJSON(t, "whole.safetensors")
	expect.Equal(t, any([]any{map[string]any{"path": "whole.safetensors", "size": r["file_size"]}}), r["files"])
	if _, isThere := r["tensors"].([]any)[0].(map[string]any)["file"]; isThere {
		t.Error("the tensor of a model of one file has the file")
	}
	tool(t, 0, "convert", "-to", "tsr", "whole.safetensors", "tsrs")
	r = inspectJSON(t, "tsrs")
	expect.Equal(t, 4, len(r["files"].([]any)))
	expect.Equal(t, any(0.0), r["tensors"].([]any)[0].(map[string]any)["file"])
}
