package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
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
