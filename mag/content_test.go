package mag

import (
	"bytes"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// write returns the file of a plan. It writes the tensors in the given order of
// indices, by default in the order of the plan.
func write(t testing.TB, p *format.Plan, data map[string][]byte, order []int, o *WriteOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	if o == nil {
		o = &WriteOptions{}
	}
	inMemory := *o
	inMemory.Spool = format.SpoolMemory
	w, err := NewWriter(&out, p, &inMemory)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		p = &format.Plan{}
	}
	for i := range p.Tensors {
		if order != nil {
			i = order[i]
		}
		name := p.Tensors[i].Name
		if err := w.WriteTensor(name, bytes.NewReader(data[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
