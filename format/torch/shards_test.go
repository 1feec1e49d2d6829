package torch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
)

// shardDir returns a directory with an index of two files, the second of which has strided tensors.
func shardDir(t *testing.T, index string) string {
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"pytorch_model.bin.index.json": []byte(index),
		"pytorch_model-00001-of-00002.bin": saved(t, pickled(dictOf(
			str("a"), tensorOf(store("Float", "0", 4), 1, nums(3), nums(1)), str("kind"), str("toy"))), floats(4)),
		"pytorch_model-00002-of-00002.bin": saved(t, pickled(dictOf(
			str("c"), tensorOf(store("Float", "0", 4), 0, nums(2, 2), nums(1, 2)),
			str("b"), tensorOf(store("Float", "0", 4), 2, nums(2), nums(1)))), floats(4)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const twoFiles = `{"metadata":{"total_size":36},"weight_map":{"b":"pytorch_model-00002-of-00002.bin","a":"pytorch_model-00001-of-00002.bin","c":"pytorch_model-00002-of-00002.bin"}}`

// TestShards opens all files of an index, by directory and by name.
func TestShards(t *testing.T) {
	dir := shardDir(t, twoFiles)
	for _, path := range []string{dir, filepath.Join(dir, "pytorch_model.bin.index.json")} {
		m, err := format.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		all := floats(4)
		want := []seen{
			f32("b", !memory.LittleEndian, all[8:], 2), f32("a", !memory.LittleEndian, all[4:], 3),
			f32("c", true, append(append(append(append([]byte{}, all[:4]...), all[8:12]...), all[4:8]...), all[12:]...), 2, 2),
		}
		if diff := cmp.Diff(want, tensorsOf(t, m), cmp.AllowUnexported(seen{})); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(format.Metadata{{Key: "kind", Value: "toy"}}, m.Metadata()); diff != "" {
			t.Error(diff)
		}
		if c, err := m.Verify(context.Background()); err != nil || c == nil {
			t.Errorf("%v, %v", c, err)
		}
		if n := len(m.Files()); n != 3 {
			t.Errorf("%d files: %q", n, m.Files())
		}
	}
}
