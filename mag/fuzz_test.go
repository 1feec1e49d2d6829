package mag

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzOpen opens, verifies and decodes its input, from memory and through a
// reader, which must agree. A file that opens can be rewritten in the same
// container and reads back the same.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	// Most mutations break the checksum, so it is not checked.
	o := &format.Options{Check: format.CheckStructure}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, strict := OpenBytes(b, nil)
		m, err := OpenBytes(b, o)
		r, rerr := OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		if (err == nil) != (rerr == nil) || strict == nil && err != nil && !errors.Is(err, format.ErrLimit) {
			t.Fatalf("bytes: %v, reader: %v, with the checksum: %v", err, rerr, strict)
		}
		if err != nil {
			var e *format.Error
			if !errors.As(err, &e) || e.Format != "mag" || e.Field == "" {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		_, verr := m.Verify(t.Context())
		if _, again := r.Verify(t.Context()); (verr == nil) != (again == nil) {
			t.Fatalf("bytes: %v, reader: %v", verr, again)
		}
		m.Notes()
		total := int64(0)
		for i := range m.Len() {
			total += m.At(i).Info().Size
		}
		if total > 1<<24 {
			return // many tensors may share the same data
		}
		decodeAll(t, m)
		again(t, m, r)
	})
}

// decodeAll reads every tensor in every way.
func decodeAll(t *testing.T, m *File) {
	t.Helper()
	for _, v := range m.Tensors() {
		if _, err := tensor.Decode[float64](nil, v); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Bytes(); err != nil {
			t.Fatal(err)
		}
	}
}

// again writes m to a new file and compares the two.
func again(t *testing.T, m, r *File) {
	t.Helper()
	p, err := format.PlanOf(m.Model)
	if err != nil {
		t.Fatal(err)
	}
	o := &WriteOptions{Snapshot: m.Snapshot(), Extended: true, NoDigests: true}
	o.Spool = format.SpoolMemory
	var out bytes.Buffer
	w, err := NewWriter(&out, p, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Copy(w, r.Model); err != nil {
		t.Fatal(err)
	}
	n, err := OpenBytes(out.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	want, got := contentOf(t, m), contentOf(t, n)
	want.tensors, got.tensors = slices.Sorted(slices.Values(withoutOffsets(want.tensors))), slices.Sorted(slices.Values(withoutOffsets(got.tensors)))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(content{}), cmpopts.EquateNaNs()); diff != "" {
		t.Fatalf("written again (-was +is):\n%s", diff)
	}
}

// withoutOffsets removes the offsets from descriptions of tensors.
func withoutOffsets(tensors []string) []string {
	out := make([]string, len(tensors))
	for i, s := range tensors {
		out[i] = s[:bytes.LastIndexByte([]byte(s), ' ')]
	}
	return out
}
