package corpus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/wire"
)

// TestTables reads the kinds of tables that doc comments have.
func TestTables(t *testing.T) {
	got := Tables(`// Package x has text.
//
// # Header
//
// The header comes first:
//
//	offset size field
//	  0     4   magic       "X" and more
//	 16    16   off, size   two fields
//	 32     -   shape
//	             words that continue the row
//	  -     4   file size   has two words
//	 40     -   num_tensors descriptors, then the rest
//
// Other text.
//
//	A record
//	 0    2  "ABC"
//	 2+N  N  name
//	24    -  rows of 32 bytes:
//	 0    8  offset
//	        the parameters:
//	 0    8*rank dims
package x
`)
	want := map[string][]wire.Field{
		"The header comes first": {
			{Name: "magic", Offset: 0, Size: 4}, {Name: "off", Offset: 16, Size: 8}, {Name: "size", Offset: 24, Size: 8},
			{Name: "shape", Offset: 32, Size: -1}, {Name: "file size", Offset: -1, Size: 4},
		},
		"A record":         {{Name: "ABC", Offset: 0, Size: 2}, {Name: "name", Offset: -1, Size: -1}},
		"rows of 32 bytes": {{Name: "offset", Offset: 0, Size: 8}},
		"the parameters":   {{Name: "dims", Offset: 0, Size: -1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
