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

// TestVersionOne: the error of the first version says what converts the model.
func TestVersionOne(t *testing.T) {
	_, err := openBytes(corpus.LE("GGUF", uint32(1), uint64(0), uint64(0)), nil)
	if err == nil || !strings.Contains(err.Error(), "convert_hf_to_gguf.py") {
		t.Error(err)
	}
}
