package formattest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// ownMemory checks that metadata, graph and notes do not change when the file does.
func (x *subject) ownMemory(t *testing.T) {
	b := slices.Clone(x.file)
	m := x.openBytes(t, b)
	defer m.Close()
	held, err := schemaOf(m)
	expect.OK(t, err)
	var encodings []string
	for i := range held.Tensors {
		if e := held.Tensors[i].Encoding; e != nil {
			encodings = append(encodings, e.Name)
			held.Tensors[i].Encoding = nil // has functions, which cannot be compared
		}
	}
	shown := func() string {
		text, err := json.Marshal([]any{m.Version(), held, m.Notes(), tensorNames(m), encodings})
		expect.OK(t, err)
		return string(text)
	}
	before := shown()
	for i := range b {
		b[i] = 0xaa
	}
	expect.Equal(t, before, shown())
}
