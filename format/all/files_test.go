package all_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestInfoFile: tensor.Info.File and Offset are where the data of each tensor is, for each kind of model of several files,
// and Stats.Files has the files and their sizes, through each door.
func TestInfoFile(t *testing.T) {
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "a", 64), list(tensor.Float32, "b", 128), list(tensor.Float32, "c", 192)}}
	for _, tt := range []struct {
		name, format, file, entry string // the entry is opened
		o                         format.WriteOptions
		files                     int
	}{
		{"one file", "safetensors", "m.safetensors", "m.safetensors", format.WriteOptions{}, 1},
		{"shards", "safetensors", "m.safetensors", "m.safetensors.index.json", format.WriteOptions{MaxShard: 600}, 4},
		{"split", "gguf", "m.gguf", "m-00001-of-00003.gguf", format.WriteOptions{MaxShard: 600}, 3},
		{"external data of onnx", "onnx", "m.onnx", "m.onnx", format.WriteOptions{ExternalFrom: 300}, 2},
		{"external data of wia", "wia", "m.wia", "m.wia", format.WriteOptions{ExternalFrom: 300}, 2},
		{"a directory of tsr", "tsr", "m", "m", format.WriteOptions{}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.o.NoSync = true
			w, err := format.Create(filepath.Join(dir, tt.file), p, tt.o.With(formatNamed(tt.format)))
			expect.OK(t, feed(p, w, err))
			path := filepath.Join(dir, tt.entry)
			m := open(t, path, nil)
			files, total := m.Files(), int64(0)
			if len(files) != tt.files || files[0] != path {
				t.Fatalf("files %q", files)
			}
			stats := m.Stats()
			for i, f := range stats.Files {
				st, err := os.Stat(files[i])
				expect.OK(t, err)
				want := st.Size()
				if st.IsDir() {
					want = 0
				}
				total += want
				expect.Equal(t, format.FileStats{Path: files[i], Size: want}, f)
			}
			expect.Equal(t, total, stats.FileSize) // before any tensor is used
			used := map[int]bool{}
			for name, v := range m.Tensors() {
				info := v.Info()
				used[info.File] = true
				b, err := v.Bytes()
				expect.OK(t, err)
				if stored := expect.Read(t, files[info.File])[info.Offset:][:info.Size]; string(stored) != string(b) {
					t.Errorf("%s: other bytes at %d of %s", name, info.Offset, files[info.File])
				}
			}
			if len(used) != max(1, min(3, tt.files)) {
				t.Errorf("tensors are in the files %v", used)
			}
			expect.Equal(t, stats.FileSize, m.Stats().FileSize)
			if tt.format == "tsr" {
				return
			}
			other, err := format.OpenFS(os.DirFS(dir), tt.entry, nil)
			expect.OK(t, err)
			defer other.Close()
			for i, v := range m.Tensors() {
				w, err := other.Tensor(i)
				expect.OK(t, err)
				expect.Equal(t, v.Info().File, w.Info().File)
			}
			for i, f := range other.Stats().Files {
				expect.Equal(t, stats.Files[i].Size, f.Size)
				expect.Equal(t, filepath.Base(files[i]), filepath.Base(f.Path))
			}
			expect.Equal(t, stats.FileSize, other.Stats().FileSize)
		})
	}
}

// TestMissingFile: external data that is missing has no size.
func TestMissingFile(t *testing.T) {
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "a", 64)}}
	path := filepath.Join(t.TempDir(), "m.onnx")
	w, err := format.Create(path, p, &format.WriteOptions{NoSync: true, ExternalFrom: 1, Format: onnx.Format{}})
	expect.OK(t, feed(p, w, err))
	m := open(t, path, nil)
	data := m.Files()[1]
	expect.OK(t, m.Close())
	expect.OK(t, os.Remove(data))
	m = open(t, path, nil)
	stats := m.Stats()
	st, err := os.Stat(path)
	expect.OK(t, err)
	expect.Equal(t, []format.FileStats{{Path: path, Size: st.Size()}, {Path: data, Size: -1}}, stats.Files)
	expect.Equal(t, st.Size(), stats.FileSize)
	_, err = m.Verify(context.Background(), nil)
	expect.Refused(t, os.ErrNotExist)(nil, err)
}
