package all_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/weightmap/weightmap/format"
)

// TestOpenFS: models of several files open in any file system.
func TestOpenFS(t *testing.T) {
	files := map[string]string{
		"m/model.safetensors.index.json": index("a", "s1.safetensors", "b", "sub/s2.safetensors"), "m/s1.safetensors": safe("a"), "m/sub/s2.safetensors": safe("b"),
		"bad/i.index.json": index("a", "none"), "none/README.md": "#", "two/a.gguf": split(0, 1), "two/b.gguf": split(0, 1), "dir/w.tsr": single(),
		"parts/p-00001-of-00002.gguf": split(0, 2), "parts/p-00002-of-00002.gguf": split(1, 2),
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	inMemory := fstest.MapFS{}
	for name, content := range files {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write([]byte(content))
		must(t, err)
		inMemory[name] = &fstest.MapFile{Data: []byte(content)}
	}
	must(t, z.Close())
	zipped, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	must(t, err)
	for kind, fsys := range map[string]fs.FS{"zip": zipped, "memory": inMemory, "directory": os.DirFS(lay(t, t.TempDir(), files))} {
		for _, tt := range []struct {
			name    string
			tensors int
			err     error
		}{
			{"m/model.safetensors.index.json", 2, nil}, {"m", 2, nil}, {"m/s1.safetensors", 1, nil}, {"parts", 0, nil},
			{"none.gguf", 0, fs.ErrNotExist}, {"bad", 0, fs.ErrNotExist}, {"none", 0, format.ErrUnknownFormat}, {"two", 0, format.ErrUnsupported},
			{"dir", 0, format.ErrUnsupported}, {"../m", 0, fs.ErrInvalid},
		} {
			t.Run(kind+"/"+tt.name, func(t *testing.T) {
				m, err := format.OpenFS(fsys, tt.name, nil)
				if tt.err != nil {
					if !errors.Is(err, tt.err) && !(tt.err == fs.ErrInvalid && errors.Is(err, fs.ErrNotExist)) {
						t.Errorf("%v, want %v", err, tt.err)
					}
					return
				}
				must(t, err)
				defer m.Close()
				if m.Len() != tt.tensors {
					t.Errorf("%d tensors", m.Len())
				}
				for name, v := range m.Tensors() {
					if b, err := v.Bytes(); err != nil || string(b) != "\x07" {
						t.Errorf("%s: %q, %v", name, b, err)
					}
				}
			})
		}
	}
	if _, err := format.OpenFS(zipped, "m/s1.safetensors", &format.Options{MaxMemory: 8}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("beyond the limit: %v", err)
	}
}
