package mobi

import (
	"hash/adler32"
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// FuzzFile opens, verifies and decodes its input.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	f.Add(packed())
	formattest.Fuzz(f, formattest.Config{Codec: codec, ReadsAll: true})
}

// FuzzSections puts arbitrary sections between a valid header and a valid footer, so
// that the parsers of all sections run.
func FuzzSections(f *testing.F) {
	for _, b := range [][]byte{small().bytes(), packed(), withParam(param("a", 8, array(u64s(1, 2), 8)...), param("b", 5, i32s(0)...))} {
		h := openFuzz(f, b).Header()
		f.Add(b[32:h.TensorOffset], b[h.TensorOffset:h.GraphOffset], b[h.GraphOffset:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, meta, records, graph []byte) {
		if len(meta)+len(records)+len(graph) > 1<<16 {
			return
		}
		tensorAt := uint32(32 + len(meta))
		graphAt := tensorAt + uint32(len(records))
		b := le("IBOM", uint16(1), uint16(0), uint32(0), uint32(0), graphAt+uint32(len(graph))+4, uint32(32), tensorAt, graphAt, meta, records, graph)
		b = append(b, le(adler32.Checksum(b))...)
		m, err := OpenBytes(b, nil)
		if err != nil {
			return
		}
		defer m.Close()
		for id, v := range m.Constants() {
			if w, err := m.Constant(id); err != nil || w.Name() != v.Name() {
				t.Fatalf("constant %d is not found", id)
			}
			tensor.Decode[float32](nil, v)
		}
		_ = verify(t, m)
	})
}

func openFuzz(f *testing.F, b []byte) *File {
	m, err := OpenBytes(b, nil)
	if err != nil {
		f.Fatal(err)
	}
	return m
}
