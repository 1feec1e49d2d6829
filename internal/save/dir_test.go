package save

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/tensor"
)

// assemble writes a directory with one file.
func assemble(path, name, text string, sync bool) error {
	d := &laidOut{layout: func(*plan.Plan) (*driver.Layout, error) {
		return &driver.Layout{Files: []string{name}, Parts: []driver.Part{{Bytes: []byte(text)}}}, nil
	}}
	o := &plan.WriteOptions{Context: context.Background(), Path: path, NoSync: !sync}
	w, err := Create(d, &plan.Plan{Tensors: []tensor.Info{{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{0}}}}, o)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.WriteTensor("a", strings.NewReader("")); err != nil {
		return err
	}
	return w.Close()
}

// tree creates a directory with files.
func tree(t *testing.T, path string, files map[string]string) {
	t.Helper()
	must(t, os.Mkdir(path, 0o755))
	for name, text := range files {
		mustWrite(t, filepath.Join(path, name), text, 0o644)
	}
}

// TestDirRefused: a directory with content is not replaced, even if the content arrives during the
// write; the error names it.
func TestDirRefused(t *testing.T) {
	parent := t.TempDir()
	for _, late := range []bool{false, true} {
		for _, empty := range []bool{false, true} {
			path := filepath.Join(parent, fmt.Sprint(late, empty))
			switch put := func() { mustWrite(t, filepath.Join(path, "mine.toy"), "x", 0o644) }; {
			case !late:
				tree(t, path, nil)
				put()
			case empty:
				tree(t, path, nil)
			}
			if late {
				SetHook(func(call, to string) error {
					if (call == CallRename || call == CallRemove) && to == path {
						SetHook(nil)
						if !empty {
							tree(t, path, nil)
						}
						mustWrite(t, filepath.Join(path, "mine.toy"), "x", 0o644)
					}
					return nil
				})
			}
			err := assemble(path, "b.toy", "new", false)
			SetHook(nil)
			if err == nil || !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), "mine.toy") {
				t.Errorf("late %v, empty %v: %v", late, empty, err)
			}
			if d := cmp.Diff([]string{"mine.toy"}, entries(t, path)); d != "" {
				t.Error(d)
			}
		}
	}
	if list := entries(t, parent); len(list) != 4 {
		t.Errorf("left behind: %q", list)
	}
}

// TestDirRestored: the empty directory is restored if the new one cannot replace it.
func TestDirRestored(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "m")
	tree(t, path, nil)
	SetHook(func(call, _ string) error {
		if call == CallRename {
			return errInjected
		}
		return nil
	})
	defer SetHook(nil)
	if err := assemble(path, "a.toy", "new", false); !errors.Is(err, errInjected) {
		t.Errorf("%v, want %v", err, errInjected)
	}
	if d := cmp.Diff([]string{"m"}, entries(t, parent)); d != "" {
		t.Error(d)
	}
}

// TestDirNotDurable: after ErrNotDurable the new directory is in place.
func TestDirNotDurable(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "m")
	SetHook(func(call, at string) error {
		if call == CallSyncDir && at == parent {
			return errInjected
		}
		return nil
	})
	defer SetHook(nil)
	if err := assemble(path, "b.toy", "new", true); !errors.Is(err, driver.ErrNotDurable) {
		t.Errorf("%v, want ErrNotDurable", err)
	}
	wantFiles(t, path, map[string]string{"b.toy": "new"})
	if d := cmp.Diff([]string{"m"}, entries(t, parent)); d != "" {
		t.Error(d)
	}
}

// TestSweepDir: the next writer of a directory removes the leftovers of killed writers, and nothing
// else.
func TestSweepDir(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-25 * time.Hour)
	for name, file := range map[string]string{".m.0123456789ab.tmp": "a.toy", ".m.0123456789ac.tmp": "a.doc", ".n.0123456789ab.tmp": "a.toy", ".m.0123456789ad.tmp": "young.toy"} {
		path := filepath.Join(parent, name)
		tree(t, path, map[string]string{file: "left"})
		if file != "young.toy" {
			must(t, os.Chtimes(path, old, old))
		}
	}
	must(t, assemble(filepath.Join(parent, "m"), "a.toy", "new", false))
	want := []string{".m.0123456789ac.tmp", ".m.0123456789ad.tmp", ".n.0123456789ab.tmp", "m"}
	if d := cmp.Diff(want, entries(t, parent)); d != "" {
		t.Error(d)
	}
}
