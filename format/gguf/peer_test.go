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
	"github.com/weightmap/weightmap/tensor"
)

// readerScript prints what @huggingface/gguf reads of a file as JSON.
const readerScript = `
const [library, path] = process.argv.slice(2);
const { gguf } = await import(library);
const r = await gguf(path, { allowLocalFile: true, typedMetadata: true, computeParametersCount: true });
const plain = (k, v) => typeof v === "bigint" ? Number(v) : v;
console.log(JSON.stringify({
	metadata: r.typedMetadata, tensors: r.tensorInfos, parameters: r.parameterCount,
	data: r.tensorDataOffset, little: r.littleEndian,
}, plain));
`

// TestHuggingFace has the JavaScript reader of Hugging Face read our files: plain
// and quantized tensors, all types of metadata, an alignment of its own.
func TestHuggingFace(t *testing.T) {
	home := os.Getenv("HUGGINGFACE_GGUF")
	if home == "" {
		t.Skip("HUGGINGFACE_GGUF does not say where @huggingface/gguf is installed")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node: ", err)
	}
	dir := t.TempDir()
	script, path := filepath.Join(dir, "read.mjs"), filepath.Join(dir, "m.gguf")
	plan := &format.Plan{
		Metadata: format.Metadata{
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
	b := write(t, plan, &format.WriteOptions{Storage: format.Storage{Align: 64}}, data)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(readerScript), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, script, filepath.Join(home, "node_modules", "@huggingface", "gguf", "dist", "index.mjs"), path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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

// writerScript writes a file with Python's struct, with formulas of its own for the
// blocks and their values, which it prints.
const writerScript = `
import json, struct, sys

def text(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b

def value(kind, v):
    if kind == "string":
        return struct.pack("<I", 8) + text(v)
    if kind == "strings":
        return struct.pack("<IIQ", 9, 8, len(v)) + b"".join(text(s) for s in v)
    if kind == "floats":
        return struct.pack("<IIQ", 9, 6, len(v)) + b"".join(struct.pack("<f", x) for x in v)
    code, form = {"uint32": (4, "<I"), "float32": (6, "<f"), "bool": (7, "<B"), "uint64": (10, "<Q")}[kind]
    return struct.pack("<I", code) + struct.pack(form, v)

metadata = [
    ("general.architecture", "string", "llama"), ("general.alignment", "uint32", 16), ("llama.block_count", "uint32", 32),
    ("llama.eps", "float32", 1e-5), ("yes", "bool", 1), ("large", "uint64", 2**64 - 1),
    ("tokenizer.ggml.tokens", "strings", ["<s>", "\u2581a", 'quote"']), ("tokenizer.ggml.scores", "floats", [0.0, -1.5]),
]

def q4_0(scale, values): # values -8 to 7
    u = [v + 8 for v in values]
    return struct.pack("<e", scale) + bytes(u[i] | u[i + 16] << 4 for i in range(16)), [scale * v for v in values]

def q8_0(scale, values):
    return struct.pack("<e32b", scale, *values), [scale * v for v in values]

def q6_k(scale, scales, values): # 256 values -32 to 31
    u = [v + 32 for v in values]
    low, high = bytearray(128), bytearray(64)
    for i, v in enumerate(u):
        part, at = divmod(i, 128)
        row, l = divmod(at, 32)
        low[part * 64 + row % 2 * 32 + l] |= (v & 15) << (row // 2 * 4)
        high[part * 32 + l] |= (v >> 4) << (row * 2)
    b = bytes(low) + bytes(high) + struct.pack("<16be", *scales, scale)
    return b, [scale * scales[i // 16] * v for i, v in enumerate(values)]

blocks, values = {}, {}
for name, code, dims, made in [
    ("q4", 2, [32, 2], [q4_0(0.5, [(i * 7) % 16 - 8 for i in range(32)]), q4_0(-2, [7 - i % 16 for i in range(32)])]),
    ("q8", 8, [64], [q8_0(0.25, list(range(-16, 16))), q8_0(1, [(i * 37) % 256 - 128 for i in range(32)])]),
    ("q6", 14, [256, 1], [q6_k(0.125, list(range(-8, 8)), [(i * 11) % 64 - 32 for i in range(256)])]),
]:
    blocks[name] = (code, dims, b"".join(b for b, _ in made))
    values[name] = [x for _, v in made for x in v]
plain = [1.5, -2.25, 1e10, 0.0, 5.0, 6.0]
blocks["plain"] = (0, [3, 2], struct.pack("<6f", *plain))
values["plain"] = plain

out = struct.pack("<4sIQQ", b"GGUF", int(sys.argv[2]), len(blocks), len(metadata))
for key, kind, v in metadata:
    out += text(key) + value(kind, v)
data = b""
for name, (code, dims, b) in blocks.items():
    data += bytes(-len(data) % 16)
    out += text(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, code, len(data))
    data += b
out += bytes(-len(out) % 16)
open(sys.argv[1], "wb").write(out + data)
print(json.dumps(values))
`

// TestPython reads what a writer that shares nothing with this package writes.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	for _, version := range []string{"2", "3"} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		cmd := exec.Command(python, "-", path, version)
		cmd.Stdin = strings.NewReader(writerScript)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var want map[string][]float32
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		m, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, types := map[string][]float32{}, map[string]string{}
		for name, v := range m.Tensors() {
			i := v.Info()
			types[name] = i.TypeName() + " " + i.Shape.String()
			if got[name], err = tensor.Decode[float32](nil, v); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]string{"q4": "Q4_0 [2, 32]", "q8": "Q8_0 [64]", "q6": "Q6_K [1, 256]", "plain": "float32 [2, 3]"}, types); diff != "" {
			t.Error(diff)
		}
		meta := format.Metadata{
			{Key: "general.architecture", Value: "llama"}, {Key: "general.alignment", Value: int64(16)}, {Key: "llama.block_count", Value: int64(32)},
			{Key: "llama.eps", Value: float64(float32(1e-5))}, {Key: "yes", Value: true}, {Key: "large", Value: json.Number("18446744073709551615")},
			{Key: "tokenizer.ggml.tokens", Value: json.RawMessage(`["<s>","` + "\u2581" + `a","quote\""]`)},
			{Key: "tokenizer.ggml.scores", Value: json.RawMessage(`[0.0,-1.5]`)},
		}
		if diff := cmp.Diff(meta, m.Metadata()); diff != "" || m.Version() != version || m.Notes() != nil {
			t.Error(m.Version(), m.Notes(), diff)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// shardsScript prints what @huggingface/gguf reads of all parts of a model.
const shardsScript = `
const [library, path] = process.argv.slice(2);
const { ggufAllShards } = await import(library);
const r = await ggufAllShards(path, { allowLocalFile: true });
const plain = (k, v) => typeof v === "bigint" ? Number(v) : v;
console.log(JSON.stringify(r.shards.map(s => ({
	no: s.metadata["split.no"], count: s.metadata["split.count"], all: s.metadata["split.tensors.count"],
	architecture: s.metadata["general.architecture"] ?? "", tensors: s.tensorInfos.map(t => t.name),
})), plain));
`

// TestHuggingFaceShards has that reader find all parts that we write by the first.
func TestHuggingFaceShards(t *testing.T) {
	home := os.Getenv("HUGGINGFACE_GGUF")
	if home == "" {
		t.Skip("HUGGINGFACE_GGUF does not say where @huggingface/gguf is installed")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node: ", err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "read.mjs")
	if err := os.WriteFile(script, []byte(shardsScript), 0o666); err != nil {
		t.Fatal(err)
	}
	plan := &format.Plan{Metadata: format.Metadata{{Key: "general.architecture", Value: "llama"}}}
	for _, name := range []string{"a", "b", "c"} {
		plan.Tensors = append(plan.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{2}})
	}
	w, err := Create(filepath.Join(dir, "m.gguf"), plan, &format.WriteOptions{MaxShard: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, name := range []string{"c", "a", "b"} {
		if err := w.WriteTensor(name, strings.NewReader("01234567")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, script, filepath.Join(home, "node_modules", "@huggingface", "gguf", "dist", "index.mjs"), filepath.Join(dir, "m-00001-of-00002.gguf")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := `[{"no":0,"count":2,"all":3,"architecture":"llama","tensors":["a","b"]},{"no":1,"count":2,"all":3,"architecture":"","tensors":["c"]}]`
	if diff := cmp.Diff(want, strings.TrimSpace(string(out))); diff != "" {
		t.Error(diff)
	}
}
