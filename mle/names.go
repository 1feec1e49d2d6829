package mle

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// namesKey is the metadata key of the names of all descriptors.
const namesKey = "tensor_names"

// readNames reads the names of the descriptors from the metadata, if they are
// there: one string each, all different.
func (f *parsed) readNames() error {
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
		name, whole, _ := jsonmeta.Text(raw)
		switch {
		case len(names) == f.graph.tensors:
			err = bad("more names than the %d tensors", f.graph.tensors)
		case len(name) == 0:
			err = bad("element %d is not a string, or an empty one", len(names))
		case !whole: // the text itself is valid UTF-8, but an escape is half a character
			err = bad("name %d is not valid UTF-8", len(names))
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
		return bad("not an array")
	case len(names) < f.graph.tensors:
		return bad("%d names for %d tensors", len(names), f.graph.tensors)
	}
	f.names = names
	return nil
}

// checkPlaceholderNames refuses a placeholder with the name of another
// descriptor. The index has refused those of constants.
func (f *parsed) checkPlaceholderNames() error {
	if f.names == nil || f.index.Len() == f.graph.tensors {
		return nil
	}
	names := make([][]byte, 0, f.graph.tensors-f.index.Len())
	for i, name := range f.names {
		if d := f.graph.descriptor(i); d.constant() {
			continue
		}
		if _, taken := f.index.LookupBytes(name); taken {
			return f.nameTwice(name)
		}
		names = append(names, name)
	}
	if i, twice := repeated(names); twice {
		return f.nameTwice(names[i])
	}
	return nil
}

func (f *parsed) nameTwice(name []byte) error {
	return fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, "%q occurs twice", name)
}

// repeated finds a name that occurs twice. It sorts the names.
func repeated(names [][]byte) (i int, twice bool) {
	slices.SortFunc(names, bytes.Compare)
	for k := 1; k < len(names); k++ {
		if bytes.Equal(names[k-1], names[k]) {
			return k, true
		}
	}
	return 0, false
}

// appendName appends the name of descriptor i, which is "tensor_<i>" unless the
// metadata says otherwise.
func (f *parsed) appendName(b []byte, i int) []byte {
	if f.names != nil {
		return f.names[i]
	}
	return strconv.AppendInt(append(b, "tensor_"...), int64(i), 10)
}

// Restore implements driver.Restorer: the list of names goes where it says no more
// than the tensors do.
func (f *parsed) Restore(p *driver.Plan) {
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e driver.Entry) bool {
		return e.Key == namesKey && namesTensors(e.Value, p.Tensors)
	})
}
