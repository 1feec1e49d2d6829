package gguf

import (
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
)

// FuzzOpen opens, verifies and decodes its input.
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
	formattest.Fuzz(f, formattest.Config{Codec: codec, Trailing: true})
}
