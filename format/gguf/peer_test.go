package gguf

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// huggingFace runs a script with the JavaScript reader of Hugging Face.
func huggingFace(t *testing.T, script, path string) []byte {
	home := os.Getenv("HUGGINGFACE_GGUF")
	if home == "" {
		t.Skip("HUGGINGFACE_GGUF does not say where @huggingface/gguf is installed")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node: ", err)
	}
	out, err := exec.Command(node, script, filepath.Join(home, "node_modules", "@huggingface", "gguf", "dist", "index.mjs"), path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// TestHuggingFace has the JavaScript reader of Hugging Face read our files: plain
// and quantized tensors, all types of metadata, another alignment.
func TestHuggingFace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	s := &schema.Schema{
		Metadata: schema.Metadata{
			{Key: "general.architecture", Value: "llama"}, {Key: "u8", Value: uint8(200)}, {Key: "i8", Value: int8(-3)},
			{Key: "u16", Value: uint16(65535)}, {Key: "i16", Value: int16(-300)}, {Key: "u32", Value: int64(7)}, {Key: "i32", Value: int64(-7)},
			{Key: "f32", Value: 0.5}, {Key: "yes", Value: true}, {Key: "u64", Value: uint64(1 << 40)}, {Key: "i64", Value: Int64(-1)},
			{Key: "f64", Value: 0.1}, {Key: "words", Value: json.RawMessage(`["a","b\u00fc"]`)}, {Key: "scores", Value: []float32{0.25, -1}},
			{Key: "types", Value: []int32{1, -2}}, {Key: "nested", Value: []any{[]uint8{1}, []string{"x"}}},
		},
		Tensors: []tensor.Info{
			{Name: "w", Encoding: Q8_0(), Shape: tensor.Shape{3, 64}},
			{Name: "b", DType: tensor.BFloat16, Shape: tensor.Shape{5}},
			{Name: "h", DType: tensor.Float16, Shape: tensor.Shape{2, 3, 4}},
			{Name: "i", DType: tensor.Int64, Shape: tensor.Shape{2}},
		},
	}
	data := map[string][]byte{"w": make([]byte, 204), "b": make([]byte, 10), "h": make([]byte, 48), "i": make([]byte, 16)}
	b := write(t, s, &format.WriteOptions{Align: 64}, data)
	expect.OK(t, os.WriteFile(path, b, 0o666))
	out := huggingFace(t, "testdata/read.mjs", path)
	type value struct {
		Value any `json:"value"`
		Type  int `json:"type"`
	}
	var got struct {
		Metadata map[string]value `json:"metadata"`
		Tensors  []struct {
			Name   string  `json:"name"`
			Shape  []int64 `json:"shape"`
			DType  int     `json:"dtype"`
			Offset int64   `json:"offset"`
		} `json:"tensors"`
		Parameters int64 `json:"parameters"`
		Data       int64 `json:"data"`
		Little     bool  `json:"little"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m := open(t, b)
	for i, p := range got.Tensors {
		v := m.At(i).Info()
		code, _ := codeOf(&v)
		for k := range p.Shape {
			if p.Shape[k] != v.Shape[len(v.Shape)-1-k] {
				t.Errorf("%s has shape %v", p.Name, p.Shape)
			}
		}
		if p.Name != v.Name || p.DType != int(code) || got.Data+p.Offset != v.Offset {
			t.Errorf("%+v, want %+v", p, v)
		}
	}
	if len(got.Tensors) != 4 || got.Parameters != 192+5+24+2 || !got.Little {
		t.Errorf("%+v", got)
	}
	for k, v := range map[string]value{
		"general.architecture": {"llama", 8}, "u8": {200.0, 0}, "i8": {-3.0, 1}, "u16": {65535.0, 2}, "i16": {-300.0, 3}, "u32": {7.0, 4},
		"i32": {-7.0, 5}, "f32": {0.5, 6}, "yes": {true, 7}, "u64": {float64(1 << 40), 10}, "i64": {-1.0, 11}, "f64": {0.1, 12},
		"words": {[]any{"a", "b\u00fc"}, 9}, "scores": {[]any{0.25, -1.0}, 9}, "types": {[]any{1.0, -2.0}, 9},
		"nested": {[]any{[]any{1.0}, []any{"x"}}, 9}, "general.alignment": {64.0, 4}, "general.quantization_version": {2.0, 4},
	} {
		if diff := cmp.Diff(v, got.Metadata[k]); diff != "" {
			t.Errorf("%s: %s", k, diff)
		}
	}
}

// TestHuggingFaceShards has that reader find all parts that we write by the first.
func TestHuggingFaceShards(t *testing.T) {
	dir := t.TempDir()
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "general.architecture", Value: "llama"}}}
	for _, name := range []string{"a", "b", "c"} {
		s.Tensors = append(s.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{2}})
	}
	w, err := format.Create(filepath.Join(dir, "m.gguf"), s, &format.WriteOptions{MaxShard: 16})
	expect.OK(t, err)
	defer w.Abort()
	for _, name := range []string{"c", "a", "b"} {
		expect.OK(t, w.WriteTensor(name, strings.NewReader("01234567")))
	}
	expect.OK(t, w.Close())
	out := huggingFace(t, "testdata/shards.mjs", filepath.Join(dir, "m-00001-of-00002.gguf"))
	want := `[{"no":0,"count":2,"all":3,"architecture":"llama","tensors":["a","b"]},{"no":1,"count":2,"all":3,"architecture":"","tensors":["c"]}]`
	expect.Equal(t, want, strings.TrimSpace(string(out)))
}
