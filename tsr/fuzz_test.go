package tsr

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzOpen opens, verifies, decodes and rewrites its input. Errors must be
// *format.Error, and a file that opens is rewritten byte for byte.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := OpenBytes(b, nil)
		r, rerr := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("bytes: %v, reader: %v", err, rerr)
		}
		if err != nil {
			var e *format.Error
			if !errors.As(err, &e) || e.Format != "tsr" || e.Field == "" || e.Offset < 0 {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		for _, f := range []*File{m, r} {
			if _, err := f.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		v := m.At(0)
		if _, err := tensor.Decode[float64](nil, v); err != nil {
			t.Fatal(err)
		}
		p, err := format.PlanOf(m.Model)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := format.Copy(w, r.Model); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), b) {
			t.Fatal("written again it differs")
		}
	})
}
