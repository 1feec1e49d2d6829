package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
)

// several are the kinds of models that have more than one file. make writes one at path.
var several = []struct {
	name  string
	files []string // below the directory of the path
	make  func(t *testing.T, path string, value float32)
}{
	{"tsr", []string{"model", "model/0.tsr", "model/1.tsr"}, func(t *testing.T, path string, value float32) {
		if err := os.RemoveAll(path); err != nil { // a directory with files is not replaced
			t.Fatal(err)
		}
		writeModel(t, "tsr", path, model{value: value})
	}},
	{"safetensors", []string{"model", "a.safetensors", "b.safetensors"}, func(t *testing.T, path string, value float32) {
		dir := filepath.Dir(path)
		for _, name := range []string{"a", "b"} {
			writeModel(t, "safetensors", filepath.Join(dir, name+".safetensors"), model{value: value})
		}
		replace(t, path, []byte(`{"metadata":{},"weight_map":{"0":"a.safetensors","1":"b.safetensors"}}`))
	}},
	{"wia", []string{"model", "w.bin"}, func(t *testing.T, path string, value float32) {
		writeModel(t, "wia", path, model{value: value, external: true})
	}},
}

func TestSeveralFiles(t *testing.T) {
	testhost.NeedReplace(t)
	testhost.NeedTimes(t)
	for _, tt := range several {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "model")
			tt.make(t, path, 1)
			h, err := Open(path, nil)
			must(t, err)
			defer h.Close()
			l, err := h.Acquire()
			must(t, err)
			defer l.Release()
			var files []string
			for _, f := range l.Model().Files() {
				files = append(files, filepath.ToSlash(strings.TrimPrefix(f, dir+string(filepath.Separator))))
			}
			if tt.name == "wia" {
				files[1] = "w.bin" // which carries a generation of its own
			}
			if diff := cmp.Diff(tt.files, files); diff != "" {
				t.Error(diff)
			}
			tt.make(t, path, 2)
			var w watcher
			w.looks(h, 2)
			if v := current(t, h); v != 2 {
				t.Errorf("value %v, want 2", v)
			}
			if v, err := predict(l.Model()); v != 1 || err != nil {
				t.Errorf("the old generation: value %v, %v", v, err)
			}
			reload(t, h, 2)
			l.Release()
			changed := h.current.Load().id.paths[len(tt.files)-1]
			overwrite(t, changed, mustRead(t, changed))
			w.looks(h, 2)
			if s := h.Stats(); s.Generation != 3 || testhost.Maps() && s.Overwrites != 1 || s.Failures != 0 {
				t.Errorf("after %s was overwritten with the same bytes: %+v", filepath.Base(changed), s)
			}
			must(t, os.Remove(changed))
			n, err := h.Reload(t.Context())
			if whole := tt.name == "tsr"; whole != (n == 4 && err == nil) || !whole && n != 3 {
				t.Errorf("without one of its files: generation %d, %v", n, err)
			}
		})
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}
