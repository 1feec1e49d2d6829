package wia

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
)

// TestHeader: the fields of the header are those of the table in doc.go, and each is read from its place and
// written there.
func TestHeader(t *testing.T) {
	b := make([]byte, headerSize)
	copy(b, magic)
	b[4] = major
	for i := range 8 { // offsets and sizes
		binary.LittleEndian.PutUint64(b[8+8*i:], uint64(300+i))
	}
	b[72] = byte(Zstd)
	b[73] = 1
	h := header{fields: wire.NewRecord(formatName, b, 0)}
	h.read(&h.fields, 1000)
	corpus.Documented(t, "# The file", "", &h.fields)
	want := header{
		magic:       magic,
		blocks:      [numBlocks]span{{0, 256}, {300, 301}, {302, 303}, {304, 305}, {306, 307}},
		compression: Zstd,
		encryption:  1,
	}
	expect.Equal(t, want, h, cmp.AllowUnexported(header{}, span{}), cmpopts.IgnoreFields(header{}, "fields"))
	expect.Equal(t, b, h.bytes())
}
