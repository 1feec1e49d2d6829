package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// network writes a WIA model with metadata and a graph.
func network(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.wia")
	plan := &format.Plan{
		Metadata: format.Metadata{{Key: "author", Value: "me"}},
		Tensors:  []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 2}}},
		Graph: &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(2, 2)}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(2, 2)}},
			Nodes:   []format.Node{{Op: "Add", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		},
	}
	w, err := format.Create("wia", path, plan, nil)
	must(t, err)
	defer w.Abort()
	must(t, w.WriteTensor("w", bytes.NewReader(matrix)))
	must(t, w.Close())
	return path
}

// do runs a command line and demands its status.
func do(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := run(t.Context(), args, &o, &e); got != status {
		t.Fatalf("%q: exit status %d, want %d: %s%s", args, got, status, &o, &e)
	}
	return o.String(), e.String()
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

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
		out, errs := do(t, 2, args...)
		if !strings.Contains(errs, "cannot go to standard output: ") || !strings.Contains(errs, "; ./- is a file called -\n") || out != "" {
			t.Errorf("%q: %q, %q", args, out, errs)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	do(t, 0, "convert", "-to", "mag", in, "./-")
	do(t, 0, "set", in, "./-", "epoch=8")
	do(t, 0, "verify", "./-")
	do(t, 0, "sign", "-with", private, wia, "./-")
	do(t, 0, "verify", "-trust", public, "./-")
}

// TestKeyInFile: a key need not be in the command line.
func TestKeyInFile(t *testing.T) {
	in, out := model(t, "safetensors", "in.safetensors"), filepath.Join(t.TempDir(), "out.wia")
	key := filepath.Join(t.TempDir(), "secret.key")
	must(t, os.WriteFile(key, []byte(secretHex+"\n"), 0o600))
	do(t, 0, "convert", "-encrypt", "@"+key, in, out)
	do(t, 1, "verify", out)
	do(t, 0, "verify", "-key", "@"+key, out)
	do(t, 0, "verify", "-key", secretHex, out)
}

// TestConvertPatterns: one that is about no tensor is misspelled.
func TestConvertPatterns(t *testing.T) {
	in := model(t, "safetensors", "m.safetensors") // w and labels
	empty := filepath.Join(t.TempDir(), "empty.safetensors")
	w, err := format.Create("", empty, &format.Plan{}, nil)
	fill(t, w, err, &format.Plan{})
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"only", []string{"-only", "w", "-only", "zzz*", in}, in + `: -only: no tensor matches "zzz*"`},
		{"only nothing", []string{"-only", "", in}, in + `: -only: no tensor matches ""`},
		{"skip", []string{"-skip", "zzz*", in}, in + `: -skip: no tensor matches "zzz*"`},
		{"skip all", []string{"-skip", "*", in}, in + `: -skip: no tensor is left`},
		{"skip all that is taken", []string{"-only", "w", "-skip", "w", in}, in + `: -skip: no tensor is left`},
		{"rename", []string{"-rename", "w=v", "-rename", "nothere=x", in}, in + `: -rename: no tensor that is taken matches "nothere"`},
		{"rename what is left out", []string{"-skip", "w", "-rename", "w=x", in}, in + `: -rename: no tensor that is taken matches "w"`},
		{"of an empty model", []string{"-only", "*", empty}, empty + `: -only: no tensor matches "*"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.safetensors")
			_, errs := do(t, 1, append(append([]string{"convert"}, tt.args...), out)...)
			want := "weightmap: " + tt.want + "\ntry: weightmap inspect " + tt.args[len(tt.args)-1] + "\n"
			if diff := cmp.Diff(want, errs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("there is an output")
			}
		})
	}
	do(t, 0, "convert", empty, filepath.Join(t.TempDir(), "out.safetensors"))
	do(t, 0, "convert", "-only", "*", "-skip", "l*", "-rename", "w=v", in, filepath.Join(t.TempDir(), "out.safetensors"))
}

// TestConvertRefused: a graph has no place in TSR.
func TestConvertRefused(t *testing.T) {
	in := network(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "w.tsr")
	out, errs := do(t, 1, "convert", in, path)
	lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
	var items []string
	for _, l := range lines[:len(lines)-2] {
		item, _, ok := strings.Cut(strings.TrimPrefix(l, "weightmap: "), " would be lost: ")
		if !ok {
			t.Errorf("line %q", l)
		}
		items = append(items, item)
	}
	if diff := cmp.Diff([]string{"metadata:author", "graph"}, items); diff != "" {
		t.Error(diff)
	}
	want := []string{"weightmap: nothing is written: tsr has no place for 2 things", "try: weightmap convert -lossy " + in + " " + path}
	if diff := cmp.Diff(want, lines[len(lines)-2:]); diff != "" || out != "" {
		t.Errorf("%s, %q", diff, out)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}

	out, errs = do(t, 0, "convert", "-lossy", in, path)
	if strings.Count(errs, "weightmap: accepted: ") != 2 || !strings.Contains(errs, "accepted: graph is lost: ") || !strings.Contains(out, "written (tsr, ") {
		t.Errorf("%q, %q", out, errs)
	}
	m, err := format.Open(path, nil)
	must(t, err)
	defer m.Close()
	got, err := m.At(0).Bytes()
	if diff := cmp.Diff(matrix, got); diff != "" || err != nil || m.Len() != 1 {
		t.Errorf("%v %s", err, diff)
	}
}

func TestConvertDirectory(t *testing.T) {
	in := model(t, "mag", "m.mag")
	dir := filepath.Join(t.TempDir(), "checkpoint")
	do(t, 0, "convert", "-lossy", "-to", "tsr", in, dir)
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"labels.tsr", "w.tsr"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestConvertQuantized goes from safetensors to int8 in WIA and back.
func TestConvertQuantized(t *testing.T) {
	in := model(t, "safetensors", "in.safetensors")
	dir := t.TempDir()
	small, back := filepath.Join(dir, "m.wia"), filepath.Join(dir, "back.safetensors")
	out, errs := do(t, 0, "convert", "-quantize", "int8", in, small)
	if !strings.Contains(out, "1 tensor quantized, the worst is \"w\": ") || errs != "" {
		t.Errorf("%q, %q", out, errs)
	}
	do(t, 0, "convert", "-dtype", "float32", small, back)
	m, err := format.Open(back, nil)
	must(t, err)
	defer m.Close()
	v, err := m.Tensor("w")
	must(t, err)
	got, err := tensor.Decode[float32](nil, v)
	want := []float32{1, 2, 3, 4}
	half := 4.0 / 127 / 2 * (1 + 1e-6)
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, half)); diff != "" || err != nil || v.DType() != tensor.Float32 {
		t.Errorf("%v %v %s", v.DType(), err, diff)
	}

	// npz has no place for scales: -lossy does not make integers of no meaning.
	for _, args := range [][]string{{"-lossy"}, {"-lossy=false"}, {"-rename", "w=v"}} {
		args = append(append([]string{"convert", "-quantize", "int8"}, args...), in, filepath.Join(dir, "q.npz"))
		if _, errs = do(t, 1, args...); !strings.HasPrefix(errs, "weightmap: -quantize: npz has no int8, but float16\ntry: weightmap convert ") {
			t.Errorf("%q: %s", args, errs)
		}
	}
	// -lossy does leave out scales that the source has.
	args := []string{"convert", small, filepath.Join(dir, "q.safetensors")}
	if _, errs = do(t, 1, args...); !strings.Contains(errs, "\ntry: weightmap convert -lossy ") {
		t.Error(errs)
	}
	do(t, 0, slices.Insert(args, 1, "-lossy")...)
}

// TestConvertStorage: what the target's format has is asked for on the command line.
func TestConvertStorage(t *testing.T) {
	in := model(t, "safetensors", "in.safetensors")
	dir := t.TempDir()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	text, err := keys.EncodePrivate(private)
	must(t, err)
	pem, out, key := filepath.Join(dir, "key.pem"), filepath.Join(dir, "m.mle"), strings.Repeat("07", 32)
	must(t, os.WriteFile(pem, text, 0o600))
	do(t, 0, "convert", "-only", "w", "-rename", "*=a.*", "-compress", "zstd", "-level", "2", "-sign", pem, "-encrypt", key, "-verify", in, out)
	m, err := mle.Open(out, &format.Options{Key: bytes.Repeat([]byte{7}, 32)})
	must(t, err)
	defer m.Close()
	got, err := m.At(0).Bytes()
	if diff := cmp.Diff(matrix, got); diff != "" || err != nil || m.Len() != 1 || m.At(0).Name() != "a.w" || m.Model.Signature() == nil || m.At(0).Info().Compression != "zstd" {
		t.Errorf("%v %v %s", m.At(0).Info(), err, diff)
	}
	if _, errs := do(t, 2, "convert", "-sign", in, in, out); !strings.Contains(errs, "in.safetensors") {
		t.Error(errs)
	}
	gguf := filepath.Join(dir, "m.gguf")
	do(t, 0, "convert", "-skip", "lab*", "-align", "4096", in, gguf)
	g, err := format.Open(gguf, nil)
	must(t, err)
	defer g.Close()
	if i := g.At(0).Info(); g.Len() != 1 || i.Offset%4096 != 0 {
		t.Errorf("%d tensors, %v", g.Len(), i)
	}
}

func TestConvertUsage(t *testing.T) {
	in := model(t, "mag", "m.mag")
	out := filepath.Join(t.TempDir(), "out.mag")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"nothing":        {nil, "IN is missing; usage: weightmap convert "},
		"one":            {[]string{in}, "OUT is missing; usage: weightmap convert "},
		"three":          {[]string{in, out, out}, "convert takes IN and OUT; usage: weightmap convert "},
		"-o and OUT":     {[]string{"-o", out, in, out}, "convert takes IN and OUT; usage: weightmap convert "},
		"unknown format": {[]string{"-to", "magg", in, out}, `, wia, not "magg"; did you mean mag?; usage: `},
		"unknown ending": {[]string{in, out + ".zip"}, "-to names one of "},
		"both":           {[]string{"-dtype", "float16", "-quantize", "int8", in, out}, "exclude each other"},
		"no float":       {[]string{"-dtype", "int8", in, out}, `-dtype takes float32, float16, bfloat16, float64, not "int8"`},
		"not small":      {[]string{"-quantize", "int4", in, out}, `-quantize takes int8, q8_0, uint8, int16, float16, not "int4"`},
		"no compression": {[]string{"-compress", "zip", in, out}, `-compress takes gzip, zstd, lz4, brotli, not "zip"`},
		"not in mag":     {[]string{"-compress", "gzip", in, out}, "mag has no compression"},
		"channels":       {[]string{"-per-channel=false", in, out}, "go with -quantize"},
		"rename":         {[]string{"-rename", "a", in, out}, `"a" is not FROM=TO`},
		"short new key":  {[]string{"-encrypt", "ab", in, out}, "1 byte, not 32"},
		"align":          {[]string{"-align", "3", in, out}, "mag has no such alignment"},
		"short key":      {[]string{"-key", "ab", in, out}, "1 byte, not 32"},
	} {
		_, errs := do(t, 2, append([]string{"convert"}, tt.args...)...)
		if first, advice, _ := strings.Cut(errs, "\n"); !strings.Contains(first, tt.want) || advice != "" && !strings.HasPrefix(advice, "try: weightmap convert ") {
			t.Errorf("%s: %q", name, errs)
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Error(err)
	}
	_, errs := do(t, 1, "convert", "absent.mag", out)
	if !strings.Contains(errs, "absent.mag") {
		t.Error(errs)
	}
}

// TestConvertKeepsAll: a WIA file that becomes another loses nothing that the format has a
// place for, fields that are not known included, but what was asked to change.
func TestConvertKeepsAll(t *testing.T) {
	graph := []byte("\x0a\x01g\xE0\x03\x09") // a name, and field 60, a varint
	in := writeWIA(t, quantizedPlan(), &wia.WriteOptions{Graph: graph})
	for _, args := range [][]string{nil, {"-verify", "-compress", "gzip"}, {"-verify", "-encrypt", secretHex}, {"-external-from", "1"}} {
		out := filepath.Join(t.TempDir(), "m.wia")
		_, errs := tool(t, 0, append(append([]string{"convert"}, args...), in, out)...)
		f, err := wia.Open(out, &format.Options{Key: secret})
		must(t, err)
		defer f.Close()
		g, err := f.GraphMessage()
		must(t, err)
		if diff := cmp.Diff(graph, g); diff != "" {
			t.Errorf("%q: graph (-want +got):\n%s", args, diff)
		}
		if errs != "" {
			t.Errorf("%q: %s", args, errs)
		}
	}
	// What changes tensors goes by what formats have in common.
	out := filepath.Join(t.TempDir(), "m.wia")
	tool(t, 0, "convert", "-only", "plain", in, out)
	text, _ := tool(t, 0, "inspect", out)
	contains(t, text, "1 tensor,")
}

// TestSplitAndMerge: split says which file opens the model, and merge makes the file that it was.
func TestSplitAndMerge(t *testing.T) {
	t.Chdir(t.TempDir())
	header := `{"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[4],"data_offsets":[4,8]}}`
	header += strings.Repeat(" ", -len(header)&7)
	want := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+"datadata"...)
	must(t, os.WriteFile("m.safetensors", want, 0o666))
	for _, tt := range []struct{ out, opens string }{
		{"o.safetensors", "o.safetensors.index.json"},
		{"o.gguf", "o-00001-of-00002.gguf"},
	} {
		out, errs := do(t, 0, "split", "-max-shard", "4", "m.safetensors", tt.out)
		if !strings.HasPrefix(out, tt.opens+": written (") || errs != "" {
			t.Errorf("split says %q, %q", out, errs)
		}
		do(t, 0, "merge", tt.opens, "back.safetensors")
		if got, err := os.ReadFile("back.safetensors"); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s: merged %q, %v", tt.out, got, err)
		}
	}
	do(t, 0, "split", "m.safetensors", "whole.safetensors")
	if _, err := os.Stat("whole.safetensors"); err != nil {
		t.Error(err)
	}
	_, errs := do(t, 2, "convert", "-max-shard", "4", "m.safetensors", "m.mle")
	if want := "weightmap: -max-shard: the format is not split into several files\ntry: weightmap convert m.safetensors m.mle\n"; errs != want {
		t.Errorf("shards of another format: %q, want %q", errs, want)
	}
	do(t, 2, "merge", "-max-shard", "4", "m.safetensors", "n.safetensors")
}
