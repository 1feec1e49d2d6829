package format

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// inShards is a driver whose models may have an index, which lists their files in lines.
type inShards struct{ laidOut }

func newInShards() *inShards {
	return &inShards{laidOut{layout: func(p *schema.Schema) (*driver.Layout, error) {
		l := &driver.Layout{}
		for _, t := range p.Tensors {
			l.Offsets = append(l.Offsets, l.Size)
			l.Size += t.Size
		}
		return l, nil
	}}}
}

func (d *inShards) Places(path string) driver.Places {
	return driver.Places{File: path, Index: path + ".index.json", Stem: strings.TrimSuffix(path, ".toy")}
}

func (d *inShards) Split([]*schema.Schema) {}

func (d *inShards) Index(_ []*schema.Schema, names []string) ([]byte, error) {
	return []byte(strings.Join(names, "\n")), nil
}

func (d *inShards) Listed(index []byte) ([]string, error) {
	if string(index) == "damaged" {
		return nil, tensor.ErrCorrupt
	}
	return strings.Split(string(index), "\n"), nil
}

// writeShards writes threeTensors with data a and b for "a" and "b", into three files or two.
func writeShards(dir string, most int64, a, b string) error {
	o := toyOptions(newInShards())
	o.MaxShard = most
	o.NoSync = false
	w, err := Create(filepath.Join(dir, "m.toy"), threeTensors(), o)
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

// entryNames returns the names in a directory.
func entryNames(t *testing.T, dir string) []string {
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
	for _, name := range entryNames(t, dir) {
		b := expect.Read(t, filepath.Join(dir, name))
		m[name] = string(b)
	}
	return m
}

// openedShards returns the model that an index opens, its parts one after the other, and whether it is alone in the directory.
func openedShards(t *testing.T, dir string) (text string, isAlone bool) {
	t.Helper()
	files := contents(t, dir)
	index, ok := files["m.toy.index.json"]
	if !ok {
		return files["m.toy"], len(files) == 1
	}
	names := strings.Split(index, "\n")
	for _, name := range names {
		text += files[name] + "|"
	}
	return text, len(files) == len(names)+1
}

// TestShards: whichever call fails, the directory holds the old model of three files or the new one of
// two, and nothing else.
func TestShards(t *testing.T) {
	old := "AAA|BB|CCCC|"
	fresh := "aaabb|CCCC|"
	failed := []string{}
	for n := 0; ; n++ {
		dir := t.TempDir()
		expect.OK(t, writeShards(dir, 4, "AAA", "BB"))
		got, isAlone := openedShards(t, dir)
		if got != old || !isAlone {
			t.Fatalf("the old model is %q, alone: %v", got, isAlone)
		}
		calls := 0
		call := ""
		disk.SetHook(func(c disk.Call) error {
			calls++
			if calls <= n {
				return nil
			}
			disk.SetHook(nil)
			call = c.Name
			return errInjected
		})
		err := writeShards(dir, 5, "aaa", "bb")
		disk.SetHook(nil)
		got, isAlone = openedShards(t, dir)
		isNew := got == fresh
		if call == "" {
			if err != nil || !isNew || !isAlone {
				t.Errorf("nothing failed: %v, %q, alone: %v", err, got, isAlone)
			}
			break
		}
		failed = append(failed, call)
		switch {
		case !isNew && got != old:
			t.Errorf("call %d, %s: the model is %q", n, call, got)
		case err == nil:
			// A writer does without locks, links and the old permissions, and what it cannot remove stays.
			if !slices.Contains([]string{"lock", "wait", "mark", "link", "inherit", "remove"}, call) || !isNew || !isAlone && call != "remove" && call != "mark" {
				t.Errorf("call %d, %s: no error, new: %v, alone: %v", n, call, isNew, isAlone)
			}
		case !errors.Is(err, errInjected) || isNew != errors.Is(err, tensor.ErrNotDurable) || !isNew && !isAlone:
			t.Errorf("call %d, %s: %v, new: %v, alone: %v", n, call, err, isNew, isAlone)
		}
	}
	for _, c := range []string{"close", "create", "link", "lock", "remove", "rename", "sync", "sync directory", "truncate", "write"} {
		if !slices.Contains(failed, c) {
			t.Errorf("%s was never made", c)
		}
	}
}

// TestShardsRefused: options and drivers that do not allow shards.
func TestShardsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.toy")
	o := toyOptions(&laidOut{layout: backwards})
	o.MaxShard = 1
	_, err := Create(path, threeTensors(), o)
	wantToyError(t, "a format without shards", err, tensor.ErrOption, "MaxShard")
	many := &schema.Schema{}
	for i := range maxShards + 1 {
		many.Tensors = append(many.Tensors, tensor.Info{Name: fmt.Sprint(i), DType: tensor.Uint8, Shape: tensor.Shape{1}})
	}
	_, err = Create(path, many, o.With(asFormat{newInShards()}))
	wantToyError(t, "too many shards", err, tensor.ErrOption, "MaxShard")
	_, err = NewWriter(io.Discard, threeTensors(), o.With(asFormat{newInShards()}))
	wantToyError(t, "a stream", err, tensor.ErrOption, "MaxShard")
}
