package gguf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
)

// TestHeader: the fields of the header are those of the table in doc.go, and each is read from its place.
func TestHeader(t *testing.T) {
	b := append(corpus.LE("GGUF", uint32(3), uint64(5), uint64(7)), make([]byte, 5*minTensor+7*minEntry)...)
	r := wire.NewRecord(formatName, b, 0)
	h := readHeader(&r)
	corpus.Documented(t, "Everything is little-endian. A string is a uint64 length and its bytes.", "", &r)
	expect.Equal(t, header{version: 3, tensors: 5, entries: 7}, h, cmp.AllowUnexported(header{}))
}

// TestRecords: the fields of entries, arrays and tensor infos are those of the tables in doc.go, and
// each is read from its place. All values differ.
func TestRecords(t *testing.T) {
	d := whole(corpus.LE(uint64(3), "key", uint32(typeUint16), uint16(5)))
	e := d.entry()
	expect.OK(t, d.r.Err())
	expect.Equal(t, "key", string(e.key))
	expect.Equal(t, typeUint16, e.typ)
	expect.Equal(t, []byte{5, 0}, e.value)
	d = whole(corpus.LE(uint64(3), "key", uint32(typeUint16)))
	d.text("metadata key")
	d.typ("metadata type")
	corpus.Documented(t, "A metadata entry", "metadata ", &d.r)

	d = whole(corpus.LE(uint32(typeInt8), uint64(2), []byte{3, 4}))
	elem, n := d.list()
	corpus.Documented(t, "The value of an array", "metadata array ", &d.r)
	expect.Equal(t, typeInt8, elem)
	expect.Equal(t, uint64(2), n)

	d = whole(corpus.LE(uint64(4), "name", uint32(3), []uint64{5, 6, 7}, uint32(8), uint64(9)))
	row := d.record()
	corpus.Documented(t, "A tensor info", "tensor ", &d.r)
	want := record{
		name:   []byte("name"),
		dims:   wire.Uint64s(corpus.LE([]uint64{5, 6, 7})),
		typ:    8,
		offset: 9,
	}
	expect.Equal(t, want, row, cmp.AllowUnexported(record{}))
}

// TestVersionOne: the error of the first version says what converts the model.
func TestVersionOne(t *testing.T) {
	_, err := openBytes(corpus.LE("GGUF", uint32(1), uint64(0), uint64(0)), nil)
	if err == nil || !strings.Contains(err.Error(), "convert_hf_to_gguf.py") {
		t.Error(err)
	}
}
