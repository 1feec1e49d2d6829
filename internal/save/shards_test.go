package save

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/contract"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// inShards is a driver whose models are files of one tensor each, named 0, 1 and so on, and an index.
type inShards struct{ laidOut }

func newInShards() *inShards {
	return &inShards{laidOut{layout: func(p *plan.Plan) (*driver.Layout, error) {
		l := &driver.Layout{}
		for _, t := range p.Tensors {
			l.Offsets = append(l.Offsets, l.Size)
			l.Size += t.Size
		}
		return l, nil
	}}}
}

func (d *inShards) Shards(path string, parts []*plan.Plan) (*contract.Files, error) {
	dir := filepath.Dir(path)
	s := &contract.Files{Index: filepath.Join(dir, "index"), Text: fmt.Append(nil, len(parts))}
	for i := range parts {
		s.Paths = append(s.Paths, filepath.Join(dir, fmt.Sprint(i)))
	}
	for i := range 9 {
		s.Old = append(s.Old, filepath.Join(dir, fmt.Sprint(i)))
	}
	return s, nil
}

// writeShards writes threeTensors with data a and b for "a" and "b", into three files or two.
func writeShards(dir string, most int64, a, b string) error {
	o := options(filepath.Join(dir, "m"))
	o.MaxShard, o.NoSync = most, false
	w, err := New(newInShards(), nil, threeTensors(), o)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, t := range [][2]string{{"c", "CCCC"}, {"a", a}, {"empty", ""}, {"b", b}} {
		if err := w.WriteTensor(t[0], strings.NewReader(t[1])); err != nil {
			return err
		}
	}
	return w.Close()
}

var errInjected = errors.New("injected")

// entries returns the names in a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	expect.OK(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// wantFiles demands that a directory has these files and no others.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	expect.Equal(t, want, contents(t, dir))
}

// contents returns the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, name := range entries(t, dir) {
		b := expect.Read(t, filepath.Join(dir, name))
		m[name] = string(b)
	}
	return m
}

// TestShards: whichever call fails, the directory holds the old model of three files or the new one of
// two, and nothing else.
func TestShards(t *testing.T) {
	old := map[string]string{"0": "AAA", "1": "BB", "2": "CCCC", "index": "3"}
	fresh := map[string]string{"0": "aaabb", "1": "CCCC", "index": "2"}
	failed := []string{}
	for n := 0; ; n++ {
		dir := t.TempDir()
		expect.OK(t, writeShards(dir, 4, "AAA", "BB"))
		wantFiles(t, dir, old)
		calls, call := 0, ""
		disk.SetHook(func(c disk.Call) error {
			if calls++; calls <= n {
				return nil
			}
			disk.SetHook(nil)
			call = c.Name
			return errInjected
		})
		err := writeShards(dir, 5, "aaa", "bb")
		disk.SetHook(nil)
		got := contents(t, dir)
		isNew := cmp.Diff(fresh, got) == ""
		switch {
		case call == "" && err == nil && isNew:
			for _, c := range []string{"close", "create", "remove", "rename", "sync", "sync directory", "truncate", "write"} {
				if !slices.Contains(failed, c) {
					t.Errorf("%s was never made", c)
				}
			}
			return
		case call == "remove" || call == "inherit": // leaves a file or other permissions behind
		case err == nil || !errors.Is(err, errInjected) || isNew != errors.Is(err, driver.ErrNotDurable) || !isNew && cmp.Diff(old, got) != "":
			t.Errorf("call %d, %s: %v, and the files %v", n, call, err, got)
		}
		failed = append(failed, call)
	}
}

// TestShardsRefused: options and drivers that do not allow shards.
func TestShardsRefused(t *testing.T) {
	o := options(filepath.Join(t.TempDir(), "m"))
	o.MaxShard = 1
	_, err := New(&laidOut{layout: backwards}, nil, threeTensors(), o)
	wantError(t, "a format without shards", err, driver.ErrOption, "MaxShard")
	many := &plan.Plan{}
	for i := range maxShards + 1 {
		many.Tensors = append(many.Tensors, tensor.Info{Name: fmt.Sprint(i), DType: tensor.Uint8, Shape: tensor.Shape{1}})
	}
	_, err = New(newInShards(), nil, many, o)
	wantError(t, "too many shards", err, driver.ErrOption, "MaxShard")
	_, err = New(newInShards(), io.Discard, threeTensors(), o)
	wantError(t, "a stream", err, driver.ErrOption, "MaxShard")
}
