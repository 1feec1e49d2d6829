package mag

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// content is the content of a file in comparable form.
type content struct {
	version  string
	metadata format.Metadata
	tensors  []string // name, dtype, shape and offset
	data     map[string][]byte
}

func contentOf(t testing.TB, f *File) content {
	t.Helper()
	c := content{version: f.Version(), metadata: f.Metadata(), data: map[string][]byte{}}
	for name, v := range f.Tensors() {
		c.tensors = append(c.tensors, fmt.Sprintf("%s %v %v %d", name, v.DType(), v.Shape(), v.Info().Offset))
		err := v.Use(func(b []byte) error {
			c.data[name] = bytes.Clone(b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

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
