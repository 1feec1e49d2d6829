package npy

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzOpen opens, verifies and decodes whatever comes, from memory and from a
// reader. What opens and verifies is written and read again.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	f.Add(mixed())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := OpenBytes(b, nil)
		r, rerr := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("bytes: %v, reader: %v", err, rerr)
		}
		if err != nil {
			var e *format.Error
			if !errors.As(err, &e) || e.Field == "" || e.Offset < 0 {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		_, err = m.Verify(t.Context())
		if _, rerr := r.Verify(t.Context()); (err == nil) != (rerr == nil) {
			t.Fatalf("Verify of bytes: %v, of the reader: %v", err, rerr)
		}
		for i := range m.Len() {
			if m.At(i).Info().Size > 1<<24 {
				return
			}
			got, e1 := m.At(i).Bytes()
			_, e2 := tensor.Decode[float32](nil, r.At(i))
			if err == nil && (e1 != nil || e2 != nil && m.At(i).Info().Encoding == nil) && !errors.Is(e2, format.ErrDType) {
				t.Fatalf("verified, and then %v, %v", e1, e2)
			}
			if err == nil && int64(len(got)) != m.At(i).Info().Size {
				t.Fatalf("%d bytes of %+v", len(got), m.At(i).Info())
			}
		}
		if err == nil {
			again(t, m)
		}
	})
}

// again writes a model and compares what is read of the two.
func again(t *testing.T, m *format.Model) {
	p, err := format.PlanOf(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewArchiveWriter(&out, p, &format.WriteOptions{Spool: format.SpoolMemory})
	if errors.Is(err, format.ErrLimit) {
		return // shapes without elements may have names that are too long
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Copy(w, m); err != nil {
		t.Fatal(err)
	}
	copied, err := OpenBytes(out.Bytes(), &format.Options{Check: format.CheckAll})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for i := range m.Len() {
		a, b := m.At(i), copied.At(i)
		x, _ := a.Bytes()
		y, err := b.Bytes()
		if err != nil || !bytes.Equal(x, y) || a.Name() != b.Name() || !a.Shape().Equal(b.Shape()) || a.DType() != b.DType() {
			t.Fatalf("%+v, copied %+v, %v", a.Info(), b.Info(), err)
		}
	}
}
