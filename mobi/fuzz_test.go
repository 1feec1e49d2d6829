package mobi

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzOpen opens anything, with and without sums, and uses all of what opens.
// What verifies must survive being written again.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	f.Add(packed())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		for _, check := range []format.Check{format.CheckStructure, format.CheckDefault} {
			m, err := OpenBytes(b, &format.Options{Check: check})
			if err != nil {
				continue
			}
			exercise(t, m, b, check)
			m.Close()
		}
	})
}

// FuzzSections puts arbitrary sections behind a header and before a footer
// that are right, so that the parsers of the sections see all of them.
func FuzzSections(f *testing.F) {
	for _, b := range [][]byte{small().bytes(), packed(), withParam(param("a", 8, array(u64s(1, 2), 8)...), param("b", 5, i32s(0)...))} {
		h := openFuzz(f, b).Header()
		f.Add(b[32:h.TensorOffset], b[h.TensorOffset:h.GraphOffset], b[h.GraphOffset:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, meta, records, graph []byte) {
		if len(meta)+len(records)+len(graph) > 1<<16 {
			return
		}
		le := binary.LittleEndian
		b := le.AppendUint32([]byte("IBOM\x01\x00\x00\x00"), 0)
		tensorAt := uint32(32 + len(meta))
		graphAt := tensorAt + uint32(len(records))
		for _, v := range []uint32{0, graphAt + uint32(len(graph)) + 4, 32, tensorAt, graphAt} {
			b = le.AppendUint32(b, v)
		}
		b = bytes.Join([][]byte{b, meta, records, graph}, nil)
		b = le.AppendUint32(b, adler32.Checksum(b))
		if m, err := OpenBytes(b, nil); err == nil {
			exercise(t, m, b, format.CheckDefault)
			m.Close()
		}
	})
}

func openFuzz(f *testing.F, b []byte) *File {
	m, err := OpenBytes(b, nil)
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// exercise reads everything of a file.
func exercise(t *testing.T, f *File, b []byte, check format.Check) {
	remote, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), &format.Options{Check: check})
	if err != nil {
		t.Fatalf("opens in memory and not behind a reader: %v", err)
	}
	defer remote.Close()
	f.Notes()
	for id, v := range f.Constants() {
		if v.Info().Size > 1<<20 {
			continue
		}
		if w, err := f.Constant(id); err != nil || w.Name() != v.Name() {
			t.Fatalf("constant %d is not found", id)
		}
		got, err := v.Bytes()
		if err == nil && int64(len(got)) != v.Info().Size {
			t.Fatalf("constant %d: %d bytes of %d", id, len(got), v.Info().Size)
		}
		w, _ := remote.Constant(id)
		if again, remoteErr := w.Bytes(); (err == nil) != (remoteErr == nil) || !bytes.Equal(got, again) {
			t.Fatalf("constant %d differs behind a reader: %v, %v", id, err, remoteErr)
		}
		tensor.Decode[float32](nil, v)
	}
	if _, err := f.Graph(); err != nil {
		t.Fatalf("Graph: %v", err)
	}
	if verify(t, f) == nil {
		rewrite(t, f)
	}
}

// rewrite writes f again, unless MOBI's neutral graph cannot say what it holds.
func rewrite(t *testing.T, f *File) {
	p, err := format.PlanOf(f.Model)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, p, inMemory(nil))
	if err != nil {
		return
	}
	if err := format.Copy(w, f.Model); err != nil {
		t.Fatalf("Copy: %v", err)
	}
	again, err := OpenBytes(out.Bytes(), nil)
	if err != nil {
		t.Fatalf("the file written again does not open: %v", err)
	}
	defer again.Close()
	for id, v := range f.Constants() {
		w, _ := again.Constant(id)
		a, _ := v.Bytes()
		if b, err := w.Bytes(); err != nil || !bytes.Equal(a, b) {
			t.Fatalf("constant %d differs when written again: %v", id, err)
		}
	}
}
