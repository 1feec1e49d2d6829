package safetensors

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzOpen opens, verifies, decodes and rewrites any input. Errors must be *format.Error, and a
// rewritten file must read back the same.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	o := &format.Options{}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := OpenBytes(b, o)
		r, rerr := OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("bytes: %v, reader: %v", err, rerr)
		}
		if err != nil {
			var e *format.Error
			if !errors.As(err, &e) || e.Format != "safetensors" || e.Field == "" || e.Offset < 0 {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		for _, x := range []*format.Model{m, r} {
			if _, err := x.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		decodeAll(t, m)
		writeAgain(t, m, r)
	})
}

// decodeAll decodes every numeric tensor.
func decodeAll(t *testing.T, f *format.Model) {
	for _, v := range f.Tensors() {
		_, err := tensor.Decode[float64](nil, v)
		info := v.Info()
		if known := info.DType != tensor.Complex64 && (info.Encoding == nil || info.Encoding.Decode != nil); (err == nil) != known {
			t.Fatalf("%s: %v", info.TypeName(), err)
		}
	}
}

// writeAgain writes m unless the writer does not support it.
func writeAgain(t *testing.T, m, r *format.Model) {
	p, err := format.PlanOf(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, p, &format.WriteOptions{Spool: format.SpoolMemory})
	if err != nil {
		for i := range p.Tensors {
			_, bad := p.Tensors[i].ByteSize()
			if bad != nil || rankOf(&p.Tensors[i]) < 0 || tensor.CheckName(p.Tensors[i].Name) != nil {
				return
			}
		}
		t.Fatal(err)
	}
	if err := format.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	n := open(t, out.Bytes())
	byName := cmpopts.SortSlices(func(a, b described) bool { return a.Name < b.Name })
	if diff := cmp.Diff(describe(t, m), describe(t, n), byName); diff != "" {
		t.Fatalf("written again (-was +is):\n%s", diff)
	}
	if diff := cmp.Diff(m.Metadata(), n.Metadata()); diff != "" {
		t.Fatalf("written again (-was +is):\n%s", diff)
	}
}
