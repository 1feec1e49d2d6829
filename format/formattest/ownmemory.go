package formattest

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// ownMemory checks that metadata, graph and notes do not change when the file does.
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

// overwritten compares the content of m before and after the file is overwritten.
func (x *subject) overwritten(t *testing.T, what string, m *format.Model, overwrite func()) {
	t.Helper()
	held, err := planOf(m)
	if err != nil {
		t.Fatal(err)
	}
	var encodings []string
	for i := range held.Tensors {
		if e := held.Tensors[i].Encoding; e != nil {
			encodings = append(encodings, e.Name)
			held.Tensors[i].Encoding = nil // has functions, which cannot be compared
		}
	}
	shown := func() string {
		text, err := json.Marshal([]any{m.Version(), held, m.Notes(), tensorNames(m), encodings})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := shown()
	overwrite()
	if d := cmp.Diff(before, shown()); d != "" {
		t.Errorf("%s: what was read of the model changes with the file (-before +after)\n%s", what, d)
	}
}
