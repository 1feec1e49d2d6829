package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

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
	_, errs := tool(t, 1, "merge", "o-00002-of-00002.gguf", "back.gguf")
	contains(t, errs, "try: weightmap merge o-00001-of-00002.gguf back.gguf")
	_, errs = tool(t, 1, "merge", "o-00001-of-00002.safetensors", "back.safetensors")
	contains(t, errs, "is only part 1 of 2", "try: weightmap merge o.safetensors.index.json back.safetensors")
	tool(t, 0, "split", "m.safetensors", "whole.safetensors")
	if _, err := os.Stat("whole.safetensors"); err != nil {
		t.Error(err)
	}
}
