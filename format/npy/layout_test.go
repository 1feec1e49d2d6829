package npy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
)

// TestDocumentedLayout: the fields before the text of a header are those of the table in doc.go, and
// each is read from its place.
func TestDocumentedLayout(t *testing.T) {
	r := wire.NewRecord("", corpus.LE(magic, uint8(1), uint8(2), uint16(0x403), uint16(5)), 0)
	x := readPrefix(&r)
	corpus.Documented(t, "# An array", "", &r)
	expect.Equal(t, prefix{major: 1, minor: 2, length: 0x403}, x, cmp.AllowUnexported(prefix{}))

	r = wire.NewRecord("", corpus.LE(magic, uint8(2), uint8(3), uint32(0x7060504)), 0)
	x = readPrefix(&r)
	expect.Equal(t, prefix{major: 2, minor: 3, length: 0x7060504}, x, cmp.AllowUnexported(prefix{}))
}
