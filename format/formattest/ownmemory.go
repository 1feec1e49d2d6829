package formattest

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// ownMemory: what a model hands out, but for the bytes of tensors, does not change
// when the file does.
func (x *subject) ownMemory(t *testing.T) {
	b := slices.Clone(x.file)
	m := x.openBytes(t, b)
	x.overwritten(t, "bytes", m, func() {
		for i := range b {
			b[i] = 0xaa
		}
	})
	m.Close()
	path := x.stored(t, x.file)
	m, err := x.codec.Open(path, x.s.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x.overwritten(t, "path", m, func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte{0xaa}, len(x.file)), 0)
			f.Close()
		}
		if err != nil {
			t.Logf("a mapped file cannot be overwritten here: %v", err)
		}
	})
}

// overwritten holds on to what m shows while the file changes.
func (x *subject) overwritten(t *testing.T, what string, m *format.Model, overwrite func()) {
	t.Helper()
	held, err := planOf(m)
	if err != nil {
		t.Fatal(err)
	}
	if held.Graph, err = frozen(held.Graph); err != nil {
		t.Fatal(err)
	}
	notes, version, names := m.Notes(), m.Version(), tensorNames(m)
	want := snapshot{Version: string([]byte(version)), Plan: clonePlan(held)}
	wantNotes, wantNames := cloneStrings(notes), cloneStrings(names)
	overwrite()
	if d := cmp.Diff(want, snapshot{Version: version, Plan: held}, compared); d != "" {
		t.Errorf("%s: what was read of the model changes with the file (-before +after)\n%s", what, d)
	}
	if d := cmp.Diff([][]string{wantNotes, wantNames}, [][]string{notes, names}, compared); d != "" {
		t.Errorf("%s: notes or names change with the file (-before +after)\n%s", what, d)
	}
}
