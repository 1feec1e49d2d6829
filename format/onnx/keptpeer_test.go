package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
)

// nodeModels writes the models of ONNX's own tests of its operators.
const nodeModels = `
import sys, os, warnings
warnings.simplefilter('ignore')
import numpy as np
for name, t in dict(float=float, int=int, bool=bool, object=object, str=str).items():
    if name not in np.__dict__: setattr(np, name, t)
from onnx.backend.test.case.node import collect_testcases
cases = collect_testcases(None) if collect_testcases.__code__.co_argcount else collect_testcases()
for c in cases:
    if c.model is not None: open(os.path.join(sys.argv[1], c.name + '.onnx'), 'wb').write(c.model.SerializeToString())
print(len(os.listdir(sys.argv[1])))
`

// compareModels compares the models of two directories field by field. In the third they have
// an entry of metadata more.
const compareModels = `
import sys, os, onnx
def load(*path):
    m = onnx.ModelProto(); m.ParseFromString(open(os.path.join(*path), 'rb').read()); return m
def compare(name, was, copy):
    for f in was.DESCRIPTOR.fields:
        a, b = getattr(was, f.name), getattr(copy, f.name)
        if f.name == 'graph':
            for g in a.DESCRIPTOR.fields:
                if getattr(a, g.name) != getattr(b, g.name): print(name, 'graph.' + g.name, getattr(a, g.name), getattr(b, g.name))
        elif a != b: print(name, f.name, a, b)
    if was != copy: print(name, 'differs')
dirs = sys.argv[1:]
for name in sorted(os.listdir(dirs[0])):
    was = load(dirs[0], name)
    compare(name, was, load(dirs[1], name))
    edited = load(dirs[2], name)
    entries = [p for p in edited.metadata_props if p.key != 'weightmap']
    if len(entries) != len(edited.metadata_props) - 1: print(name, 'was not edited')
    del edited.metadata_props[:]
    edited.metadata_props.extend(entries)
    compare(name + ' edited', was, edited)
`

// TestPeerKept: python3-onnx reads in a copy what it wrote into the original, and in one
// with other metadata, of ONNX's own models of all operators.
func TestPeerKept(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand models")
	}
	in, out, edited := t.TempDir(), t.TempDir(), t.TempDir()
	count := python(t, nodeModels, in)
	files, err := os.ReadDir(in)
	if err != nil || len(files) < 20 {
		t.Fatal(count, err)
	}
	for _, f := range files {
		path := filepath.Join(in, f.Name())
		if _, err := convert.File(path, filepath.Join(out, f.Name()), &convert.Options{WriteOptions: format.WriteOptions{NoSync: true}, Verify: true}); err != nil {
			t.Error(err)
		}
		if err := edit(path, filepath.Join(edited, f.Name())); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		return
	}
	if diff := gocmp.Diff("", python(t, compareModels, in, out, edited)); diff != "" {
		t.Error(diff)
	}
	t.Logf("%s models", strings.TrimSpace(count))
}

// edit writes a model with another entry of metadata, as weightmap set does.
func edit(in, out string) error {
	m, err := format.Open(in, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := format.PlanOf(m)
	if err != nil {
		return err
	}
	p.Metadata = append(p.Metadata, format.Entry{Key: "weightmap", Value: "1"})
	w, err := format.Create(formatName, out, p, &format.WriteOptions{NoSync: true})
	if err != nil {
		return err
	}
	return format.Copy(w, m)
}
