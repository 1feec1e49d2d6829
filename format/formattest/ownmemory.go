package formattest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ownMemory checks that metadata, graph and notes do not change when the file does.
func (x *subject) ownMemory(t *testing.T) {
	b := slices.Clone(x.file)
	m := x.openBytes(t, b)
	defer m.Close()
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
	for i := range b {
		b[i] = 0xaa
	}
	if d := cmp.Diff(before, shown()); d != "" {
		t.Errorf("what was read of the model changes with the file (-before +after)\n%s", d)
	}
}
