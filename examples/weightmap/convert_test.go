package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// TestTargetOfDash: a result does not go to standard output, nor into a file called -
// unless it is asked for as such.
func TestTargetOfDash(t *testing.T) {
	in, wia := model(t, "mag", "m.mag"), network(t)
	private, public := pair(t, "ecdsa")
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"convert", in, "-"}, {"convert", "-to", "mag", in, "-"}, {"set", in, "-", "epoch=8"},
		{"sign", "-with", private, wia, "-"}, {"sign", "-with", private, "-"}, {"keygen", "-", "pub.pem"}, {"keygen", "key.pem", "-"},
	} {
		out, errs := tool(t, 2, args...)
		if !strings.Contains(errs, "cannot go to standard output: ") || !strings.Contains(errs, "; ./- is a file called -\n") || out != "" {
			t.Errorf("%q: %q, %q", args, out, errs)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	tool(t, 0, "convert", "-to", "mag", in, "./-")
	tool(t, 0, "set", in, "./-", "epoch=8")
	tool(t, 0, "verify", "./-")
	tool(t, 0, "sign", "-with", private, wia, "./-")
	tool(t, 0, "verify", "-trust", public, "./-")
}

// TestConvertQuantized goes from safetensors to int8 in WIA and back.
func TestConvertQuantized(t *testing.T) {
	in := model(t, "safetensors", "in.safetensors")
	dir := t.TempDir()
	small, back := filepath.Join(dir, "m.wia"), filepath.Join(dir, "back.safetensors")
	out, errs := tool(t, 0, "convert", "-quantize", "int8", in, small)
	if !strings.Contains(out, "1 tensor quantized, the worst is \"w\": ") || errs != "" {
		t.Errorf("%q, %q", out, errs)
	}
	tool(t, 0, "convert", "-dtype", "float32", small, back)
	m, err := format.Open(back, nil)
	expect.OK(t, err)
	defer m.Close()
	v, err := m.Tensor("w")
	expect.OK(t, err)
	got, err := tensor.Decode[float32](nil, v)
	want := []float32{1, 2, 3, 4}
	half := 4.0 / 127 / 2 * (1 + 1e-6)
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, half)); diff != "" || err != nil || v.DType() != tensor.Float32 {
		t.Errorf("%v %v %s", v.DType(), err, diff)
	}

	// -lossy does leave out scales that the source has.
	args := []string{"convert", small, filepath.Join(dir, "q.safetensors")}
	if _, errs = tool(t, 1, args...); !strings.Contains(errs, "\ntry: weightmap convert -lossy ") {
		t.Error(errs)
	}
	tool(t, 0, slices.Insert(args, 1, "-lossy")...)
}

// TestConvertStorage: what the target's format has is asked for on the command line.
func TestConvertStorage(t *testing.T) {
	in := model(t, "safetensors", "in.safetensors")
	dir := t.TempDir()
	pem, _ := pair(t, "ed25519")
	out, key := filepath.Join(dir, "m.mle"), strings.Repeat("07", 32)
	tool(t, 0, "convert", "-only", "w", "-rename", "*=a.*", "-compress", "zstd", "-level", "2", "-sign", pem, "-encrypt", key, "-verify", in, out)
	m, err := mle.Open(out, &format.Options{Key: bytes.Repeat([]byte{7}, 32)})
	expect.OK(t, err)
	defer m.Close()
	got, err := m.At(0).Bytes()
	if diff := cmp.Diff(matrix("w").data, got); diff != "" || err != nil || m.Len() != 1 || m.At(0).Name() != "a.w" || m.Model.Signature() == nil || m.At(0).Info().Compression != "zstd" {
		t.Errorf("%v %v %s", m.At(0).Info(), err, diff)
	}
	gguf := filepath.Join(dir, "m.gguf")
	tool(t, 0, "convert", "-skip", "lab*", "-align", "4096", in, gguf)
	g, err := format.Open(gguf, nil)
	expect.OK(t, err)
	defer g.Close()
	if i := g.At(0).Info(); g.Len() != 1 || i.Offset%4096 != 0 {
		t.Errorf("%d tensors, %v", g.Len(), i)
	}
}

// TestSplitAndMerge: split says which file opens the model, and merge makes the file that it was.
func TestSplitAndMerge(t *testing.T) {
	t.Chdir(t.TempDir())
	header := `{"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[4],"data_offsets":[4,8]}}`
	header += strings.Repeat(" ", -len(header)&7)
	want := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+"datadata"...)
	expect.OK(t, os.WriteFile("m.safetensors", want, 0o666))
	for _, tt := range []struct{ out, opens string }{
		{"o.safetensors", "o.safetensors.index.json"},
		{"o.gguf", "o-00001-of-00002.gguf"},
	} {
		out, errs := tool(t, 0, "split", "-max-shard", "4", "m.safetensors", tt.out)
		if !strings.HasPrefix(out, tt.opens+": written (") || errs != "" {
			t.Errorf("split says %q, %q", out, errs)
		}
		tool(t, 0, "merge", tt.opens, "back.safetensors")
		if got, err := os.ReadFile("back.safetensors"); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s: merged %q, %v", tt.out, got, err)
		}
	}
	tool(t, 0, "split", "m.safetensors", "whole.safetensors")
	if _, err := os.Stat("whole.safetensors"); err != nil {
		t.Error(err)
	}
}

// scaled writes two FP8 weights with scales in other tensors.
func scaled(t *testing.T) string {
	t.Helper()
	var views []tensor.View
	for _, name := range []string{"up", "down"} {
		w, err := tensor.FromBytes(name+".weight", tensor.Float8E4M3FN, tensor.Shape{1, 2}, []byte{0x38, 0x40})
		expect.OK(t, err)
		s, err := tensor.Of(name+".weight_scale_inv", tensor.Shape{1, 1}, []float32{3})
		expect.OK(t, err)
		views = append(views, w, s)
	}
	path := filepath.Join(t.TempDir(), "fp8.safetensors")
	expect.OK(t, format.Save(path, "", views...))
	return path
}

// TestJoin: inspect names the pairs, convert -join makes one tensor of each.
func TestJoin(t *testing.T) {
	path := scaled(t)
	out, _ := tool(t, 0, "inspect", path)
	contains(t, out, `.weight_scale_inv": one scale, and 1 pair like it; convert -join makes one tensor of them`)
	out, _ = tool(t, 0, "inspect", "-json", path)
	if want := `"tensor": "up.weight_scale_inv",`; strings.Count(out, want) != 1 || strings.Count(out, `"layout": "one scale"`) != 2 {
		t.Errorf("no %s in\n%s", want, out)
	}
	joined := filepath.Join(t.TempDir(), "joined.safetensors")
	tool(t, 0, "convert", "-join", "-dtype", "float16", path, joined)
	prints(t, "3 6\n", "cat", joined, "up.weight")
	if out, _ = tool(t, 0, "inspect", joined); !strings.Contains(out, "2 tensors") || strings.Count(out, "float16") < 2 || strings.Contains(out, "_scale") {
		t.Error(out)
	}
	_, errs := tool(t, 2, "convert", "-join", joined, filepath.Join(t.TempDir(), "again.safetensors"))
	if !strings.Contains(errs, "no tensor has its scales in another one") || strings.Count(errs, joined) != 1 {
		t.Error(errs)
	}
}

// numbered writes a model with a graph as MOBI, which numbers tensors, and returns both files.
func numbered(t *testing.T) (source, target string) {
	t.Helper()
	value := func(name string) []format.ValueInfo {
		return []format.ValueInfo{{Name: name, DType: tensor.Float32, Dims: format.FixedDims(1, 2)}}
	}
	plan := format.Plan{Graph: &format.Graph{Inputs: value("x"), Outputs: value("y"), Nodes: []format.Node{
		{Op: "MatMul", Inputs: []string{"x", "fc.weight"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "fc.bias"}, Outputs: []string{"y"}},
	}}}
	source, target = save(t, "m.onnx", plan, matrix("fc.weight"), floats("fc.bias", 5, 6)), filepath.Join(t.TempDir(), "m.mobi")
	tool(t, 0, "convert", "-lossy", source, target)
	return source, target
}

// TestKeptNames: the names that a conversion to MOBI kept are those of inspect, cat, diff
// and the patterns, and the file's numbers work too.
func TestKeptNames(t *testing.T) {
	source, target := numbered(t)
	out, _ := tool(t, 0, "inspect", target)
	contains(t, out, "  ID\n", "\nfc.weight  float32  [2,2]", "  0\n", "  1\n")
	contains(t, out, "Transpose(fc.weight) -> ", ", fc.bias) -> y")
	r := inspectJSON(t, target, "-filter", "fc.w*")
	row := r["tensors"].([]any)[0].(map[string]any)
	id, _ := row["id"].(string)
	if diff := cmp.Diff("fc.weight", row["name"]); diff != "" || id == "" {
		t.Errorf("number %q (-want +got):\n%s", id, diff)
	}
	for _, name := range []string{"fc.weight", id} {
		prints(t, "1 2\n3 4\n", "cat", target, name)
	}
	out, _ = tool(t, 0, "inspect", "-filter", id, target)
	contains(t, out, "\nfc.weight ")
	_, errs := tool(t, 1, "cat", target, "fc.wieght")
	contains(t, errs, `tensor "fc.wieght": not found; did you mean fc.weight?`)
	out, _ = tool(t, 0, "convert", "-lossy", "-only", "fc.w*", target, filepath.Join(t.TempDir(), "o.npz"))
	contains(t, out, "written")
	if out, _ = tool(t, 1, "diff", source, target); strings.Contains(out, "only in") {
		t.Error(out)
	}
	tool(t, 0, "inspect", "-html", target)
}
