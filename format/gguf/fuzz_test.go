package gguf

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzOpen opens, verifies, decodes and writes again whatever comes: errors are
// *format.Error, both ways of reading agree, and a copy has the same content.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	all := fields{magic: "GGUF", version: 2, unpadded: true}
	for _, v := range values {
		all.entries = append(all.entries, kv{v.name, v.typ, v.value})
	}
	for code, e := range elementTypes {
		if !e.sized() || e.encoding == nil {
			continue
		}
		all.tensors = append(all.tensors, info{name: e.encoding.Name, dims: []uint64{uint64(e.encoding.BlockElems)}, typ: uint32(code), data: make([]byte, e.encoding.BlockBytes)})
	}
	f.Add(all.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := OpenBytes(b, nil)
		r, rerr := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("bytes: %v, reader: %v", err, rerr)
		}
		if err != nil {
			var e *format.Error
			if !errors.As(err, &e) || e.Format != "gguf" || e.Field == "" || e.Offset < 0 {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		if _, err := m.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(m.Metadata()); err != nil || !json.Valid(text) {
			t.Fatalf("%s, %v", text, err)
		}
		_, _ = m.Notes(), m.Stats()
		for _, v := range m.Tensors() {
			x, err := tensor.Decode[float32](nil, v)
			if err == nil && int64(len(x)) != v.Len() || err != nil && !errors.Is(err, format.ErrDType) {
				t.Fatalf("%v: %d values, %v", v.Info(), len(x), err)
			}
		}
		copied(t, m)
	})
}

// copied writes a model again with its own types, as far as it can be written.
func copied(t *testing.T, m *File) {
	p, err := format.PlanOf(m.Model)
	if err != nil {
		t.Fatal(err)
	}
	p.Metadata = m.Typed()
	var out bytes.Buffer
	w, err := NewWriter(&out, p, &format.WriteOptions{AcceptLoss: []string{"metadata"}})
	if err != nil {
		if !errors.Is(err, format.ErrPlan) {
			t.Fatal(err)
		}
		return
	}
	if err := format.Copy(w, m.Model); err != nil {
		t.Fatal(err)
	}
	again, err := OpenBytes(out.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if diff := cmp.Diff(dataOf(t, m), dataOf(t, again)); diff != "" {
		t.Fatal(diff)
	}
	for _, e := range again.Typed() {
		want, ok := m.Value(e.Key)
		a, _ := json.Marshal(format.Metadata{{Key: e.Key, Value: want}})
		b, _ := json.Marshal(format.Metadata{e})
		if !ok || !bytes.Equal(a, b) {
			t.Fatalf("%q: %s, was %s", e.Key, b, a)
		}
	}
}
