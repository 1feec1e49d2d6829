package hostile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

func bytesOf(v tensor.View) error {
	_, err := v.Bytes()
	return err
}

// TestAgainAfterReplaced: external data that was missing or replaced when first needed is used once it
// is back.
func TestAgainAfterReplaced(t *testing.T) {
	others := map[string]func(path string) error{
		"nothing":      func(string) error { return nil },
		"another file": func(path string) error { return os.WriteFile(path, make([]byte, 20<<10), 0o666) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o777) },
	}
	for _, s := range samples(t) {
		if len(s.files[0]) == 1 {
			continue
		}
		for name, put := range others {
			for i := range ways {
				w := &ways[i]
				dir := t.TempDir()
				store(t, dir, s.files[0])
				o := s.options()
				if s.open == "" && w.reader || w.name == "private" {
					continue
				}
				m, _, err := w.open(s, dir, o)
				if err != nil {
					t.Fatal(err)
				}
				swap := func(aside bool) {
					for file := range s.files[0] {
						path := filepath.Join(dir, filepath.FromSlash(file))
						if file == s.open {
							continue
						}
						if aside {
							err = errors.Join(os.Rename(path, path+".aside"), put(path))
						} else {
							err = errors.Join(os.RemoveAll(path), os.Rename(path+".aside", path))
						}
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				swap(true)
				if err := each(m, bytesOf); err == nil {
					t.Errorf("%v, %s, %s: no error", s, w.name, name)
				}
				swap(false)
				if err := each(m, bytesOf); err != nil {
					t.Errorf("%v, %s, after %s: %v", s, w.name, name, err)
				}
				m.Close()
			}
		}
	}
}
