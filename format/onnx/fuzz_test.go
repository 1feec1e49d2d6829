package onnx

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
)

// FuzzOpen opens, verifies and decodes whatever comes, and writes it again: errors are
// *format.Error, both ways of reading agree, nothing panics, and a copy has what only the format
// can say.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	for _, c := range foreignFiles() {
		f.Add(c.Bytes)
	}
	f.Add(attributed(ld(6, weight("w"), str(2, "sub")), ld(5, num(1, 2), num(2, 8), str(6, "a"), str(6, "")), num(20, 5)))
	for _, c := range nativeCases() {
		f.Add(c.model)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := OpenBytes(b, nil)
		r, rerr := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("bytes: %v, reader: %v", err, rerr)
		}
		if err != nil {
			var e *format.Error
			if !errors.As(err, &e) || e.Format != formatName || e.Field == "" || e.Offset < 0 {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		formattest.Walk(m.Model)
		p, err := format.PlanOf(m.Model)
		if err != nil {
			return // external data of a tensor in the graph that is not there
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, p, nil)
		if err != nil {
			if detect(b[:min(len(b), driver.SniffLen)], int64(len(b))) && len(m.OperatorSets()) > 0 {
				t.Fatalf("a copy is refused: %v", err)
			}
			return
		}
		if format.Copy(w, m.Model) != nil {
			return // values that do not fit, external data that is not there
		}
		again, err := OpenBytes(out.Bytes(), nil)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		n, err := again.Native()
		if diff := cmp.Diff(p.Native.Kinds, n.Kinds); err != nil || diff != "" {
			t.Fatalf("%v: a copy has other kinds: %s", err, diff)
		}
		again.Close()
	})
}
