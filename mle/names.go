package mle

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// namesKey is the metadata key under which the names of all descriptors stand.
const namesKey = "tensor_names"

// readNames reads the names of the descriptors from the metadata, if they are
// there: one string each, all different.
func (f *File) readNames() error {
	value := jsonmeta.Lookup(f.meta, namesKey)
	if value == nil {
		return nil
	}
	bad := func(text string, args ...any) error {
		return fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, text, args...)
	}
	names := make([][]byte, 0, f.graph.tensors)
	var err error
	ok := jsonmeta.Elements(value, func(raw []byte) bool {
		name, whole, isText := jsonmeta.Text(raw)
		switch {
		case len(names) == f.graph.tensors:
			err = bad("more names than the %d tensors", f.graph.tensors)
		case !isText:
			err = bad("element %d is no string", len(names))
		case len(name) == 0:
			err = bad("name %d is empty", len(names))
		case !whole || !utf8.Valid(name):
			err = bad("name %d is no valid UTF-8", len(names))
		case bytes.IndexByte(name, 0) >= 0:
			err = bad("name %d contains a NUL character", len(names))
		}
		names = append(names, name)
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return bad("no array")
	case len(names) < f.graph.tensors:
		return bad("%d names for %d tensors", len(names), f.graph.tensors)
	}
	if i, twice := repeated(names); twice {
		return bad("%q occurs twice", names[i])
	}
	f.names = names
	return nil
}

var nameSeed = maphash.MakeSeed()

// repeated finds a name that occurs twice.
func repeated(names [][]byte) (i int, twice bool) {
	type hashed struct {
		sum uint64
		i   int
	}
	all := make([]hashed, len(names))
	for i, name := range names {
		all[i] = hashed{maphash.Bytes(nameSeed, name), i}
	}
	slices.SortFunc(all, func(a, b hashed) int {
		if a.sum != b.sum {
			if a.sum < b.sum {
				return -1
			}
			return 1
		}
		return bytes.Compare(names[a.i], names[b.i])
	})
	for k := 1; k < len(all); k++ {
		if bytes.Equal(names[all[k-1].i], names[all[k].i]) {
			return all[k].i, true
		}
	}
	return 0, false
}

// appendName appends the name of descriptor i, which is "tensor_<i>" unless the
// metadata say otherwise.
func (f *File) appendName(b []byte, i int) []byte {
	if f.names != nil {
		return f.names[i]
	}
	return strconv.AppendInt(append(b, "tensor_"...), int64(i), 10)
}
