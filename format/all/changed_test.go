package all_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	serving "github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// asking is a context that calls a function each time it is asked whether it is over: opening does that before each shard.
type asking struct {
	context.Context
	asked func()
}

func (a asking) Err() error {
	a.asked()
	return nil
}

// generation is a model in a directory of which each tensor says the generation: sharded, or in one file.
type generation struct {
	dir string
	n   byte
}

// replace publishes the next generation: parts, index, and then the old files go.
func (g *generation) replace(t *testing.T, sharded bool) {
	t.Helper()
	old := names(t, g.dir)
	g.n++
	files := map[string]string{"model.safetensors": valued(g.n, "a", "b")}
	if sharded {
		one, two := fmt.Sprintf("g%d-1", g.n), fmt.Sprintf("g%d-2", g.n)
		files = map[string]string{one: valued(g.n, "a"), two: valued(g.n, "b"), "model.safetensors.index.json": index("a", one, "b", two)}
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".json") {
			putInPlace(t, filepath.Join(g.dir, name), text)
		}
	}
	if sharded {
		putInPlace(t, filepath.Join(g.dir, "model.safetensors.index.json"), files["model.safetensors.index.json"])
	}
	for _, name := range old {
		if _, ok := files[name]; !ok {
			expect.OK(t, os.Remove(filepath.Join(g.dir, name)))
		}
	}
}

// putInPlace writes a file that replaces another one by a rename.
func putInPlace(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.WriteFile(path+".new", []byte(text), 0o644))
	expect.OK(t, os.Rename(path+".new", path))
}

// valued is safe with elements of a value.
func valued(value byte, names ...string) string {
	text := safe(names...)
	return text[:len(text)-len(names)] + strings.Repeat(string(rune(value)), len(names))
}

// TestReplacedWhileOpened: a model that is replaced at any moment of opening opens as one generation.
func TestReplacedWhileOpened(t *testing.T) {
	testhost.NeedReplace(t)
	for _, tt := range []struct {
		name    string
		sharded func(n byte) bool // whether generation n is
		open    func(dir string, o *format.Options) (*format.Model, error)
	}{
		{"index", func(byte) bool { return true }, func(dir string, o *format.Options) (*format.Model, error) {
			return format.Open(filepath.Join(dir, "model.safetensors.index.json"), o)
		}},
		{"directory", func(byte) bool { return true }, format.Open},
		{"directory, of another kind", func(n byte) bool { return n%2 == 1 }, format.Open},
		{"file system", func(byte) bool { return true }, func(dir string, o *format.Options) (*format.Model, error) {
			return format.OpenFS(os.DirFS(dir), "model.safetensors.index.json", o)
		}},
		{"directory of a file system", func(n byte) bool { return n%2 == 1 }, func(dir string, o *format.Options) (*format.Model, error) {
			return format.OpenFS(os.DirFS(dir), ".", o)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// open opens a model that is replaced when the context is asked, as often as replace says.
			open := func(replace func(asked int) bool) (asked int, last byte, got map[string]string, err error) {
				g := &generation{dir: t.TempDir()}
				g.replace(t, true)
				o := &format.Options{Context: asking{t.Context(), func() {
					if replace(asked) {
						g.replace(t, tt.sharded(g.n+1))
					}
					asked++
				}}}
				m, err := tt.open(g.dir, o)
				got, err = allBytes(m, err)
				return asked, g.n, got, err
			}
			total, _, _, err := open(func(int) bool { return false })
			expect.OK(t, err)
			if total < 3 {
				t.Fatalf("opening asks %d times", total)
			}
			for at := range total {
				_, last, got, err := open(func(asked int) bool { return asked == at })
				expect.OK(t, err)
				if got["a"] != got["b"] || got["a"] < "\x01" || got["a"] > string(rune(last)) || len(got) != 2 {
					t.Errorf("replaced at %d: %q of %d generations", at, got, last)
				}
			}
			_, last, got, err := open(func(asked int) bool { return asked < 3*total && asked%total == total-1 })
			if err != nil || got["a"] != got["b"] {
				t.Errorf("replaced three times: %q of %d generations, %v", got, last, err)
			}
			if tt.sharded(2) { // else opening finds a model in one file soon
				asked, _, _, err := open(func(int) bool { return true })
				if !errors.Is(err, format.ErrChanged) || asked > 4*total {
					t.Errorf("replaced for ever: %v, after being asked %d times", err, asked)
				}
			}
		})
	}
}

// TestMissingPart: a part that is missing is not looked for again while the index stays as it is.
func TestMissingPart(t *testing.T) {
	testhost.NeedReplace(t)
	for _, tt := range []struct {
		name   string
		change func(index string) error // while opening
		want   error
		opened int
	}{
		{"nothing changes", func(string) error { return nil }, fs.ErrNotExist, 1},
		{"the index goes", os.Remove, fs.ErrNotExist, 2}, // and is not there the second time
		{"the index becomes another file", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(index("a", "s1", "b", "s2")), 0o644), os.Rename(path+".new", path))
		}, format.ErrChanged, 4},
		{"the index grows", func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(b, ' '), 0o644))
		}, format.ErrChanged, 4},
	} {
		dir := lay(t, t.TempDir(), map[string]string{"m.safetensors.index.json": index("a", "s1", "b", "s2"), "s1": safe("a")})
		path, opened, asked := filepath.Join(dir, "m.safetensors.index.json"), 0, 0
		o := &format.Options{Context: asking{t.Context(), func() {
			asked++
			switch asked % 3 {
			case 1: // by the first check of the options
				opened++
			case 0: // before the last shard
				expect.OK(t, tt.change(path))
			}
		}}}
		_, err := format.Open(path, o)
		if !errors.Is(err, tt.want) || opened != tt.opened {
			t.Errorf("%s: %v after %d attempts, want %v after %d", tt.name, err, opened, tt.want, tt.opened)
		}
	}
}

// TestReplacedExternal: external data is that of the model, which opening starts over for, and stays it.
func TestReplacedExternal(t *testing.T) {
	testhost.NeedReplace(t)
	for _, s := range severals(t) {
		if s.name != "onnx" && s.name != "wia" {
			continue
		}
		dir := lay(t, t.TempDir(), s.files)
		path := filepath.Join(dir, s.entry)
		want, err := allBytes(format.Open(path, nil))
		expect.OK(t, err)
		for door, open := range map[string]func() (*format.Model, error){
			"path":     func() (*format.Model, error) { return format.Open(path, nil) },
			"os.DirFS": func() (*format.Model, error) { return format.OpenFS(os.DirFS(dir), s.entry, nil) },
		} {
			m, err := open()
			expect.OK(t, err)
			putInPlace(t, filepath.Join(dir, s.part), strings.Repeat("\xff", len(s.files[s.part])))
			got, err := allBytes(m, err)
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s, %s: %q, %v, want %q", s.name, door, got, err, want)
			}
			putInPlace(t, filepath.Join(dir, s.part), s.files[s.part])
		}
	}
}

// TestErrChanged: there is one error of files that change.
func TestErrChanged(t *testing.T) {
	if serving.ErrChanged != format.ErrChanged || remote.ErrChanged != format.ErrChanged || !errors.Is(format.ErrChanged, format.ErrCorrupt) {
		t.Error("the errors differ")
	}
}
