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

// names are the names of the descriptors as the metadata gives them: parts of a text,
// which is the metadata itself when none of them has escapes. list is nil when it
// gives none.
type names struct {
	text []byte
	list []jsonmeta.Span
}

// of returns the name of descriptor i.
func (n *names) of(i int) []byte {
	s := n.list[i]
	return n.text[s.From:s.To:s.To]
}

// checkMetadata checks the metadata, and notices where the names of the descriptors
// are in it.
func (f *parsed) checkMetadata(t *texts) error {
	if f.meta == nil {
		return nil
	}
	t.names.Key, t.names.Most = namesKey, f.graph.tensors
	err := t.Check(f.meta, jsonmeta.Options{LoneSurrogates: true, Strings: &t.names})
	return jsonError(err, "metadata", f.h.Metadata.Offset)
}

// readNames reads the names of the descriptors from the metadata, if they are
// there: one string each, all different.
func (f *parsed) readNames(found *jsonmeta.Strings) error {
	switch {
	case !found.Found:
		return nil
	case found.Plain && len(found.Spans) == f.graph.tensors:
		f.names = names{f.meta, found.Spans}
		return nil
	}
	return f.readEscaped(jsonmeta.Lookup(f.meta, namesKey))
}

// readEscaped reads names that may have escapes, and says what is wrong with them.
func (f *parsed) readEscaped(value []byte) error {
	bad := func(text string, args ...any) error {
		return fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, text, args...)
	}
	list := make([]jsonmeta.Span, 0, f.graph.tensors)
	text := make([]byte, 0, len(value)) // escapes are longer than what they stand for
	var err error
	ok := jsonmeta.Elements(value, func(raw []byte) bool {
		name, whole, _ := jsonmeta.Text(raw)
		switch {
		case len(list) == f.graph.tensors:
			err = bad("more names than the %d tensors", f.graph.tensors)
		case len(name) == 0:
			err = bad("element %d is not a string, or an empty one", len(list))
		case !whole: // the text itself is valid UTF-8, but an escape is half a character
			err = bad("name %d is not valid UTF-8", len(list))
		case bytes.IndexByte(name, 0) >= 0:
			err = bad("name %d contains a NUL character", len(list))
		}
		list = append(list, jsonmeta.Span{From: len(text), To: len(text) + len(name)})
		text = append(text, name...)
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return bad("not an array")
	case len(list) < f.graph.tensors:
		return bad("%d names for %d tensors", len(list), f.graph.tensors)
	}
	f.names = names{text, list}
	return nil
}

// checkPlaceholderNames refuses a placeholder with the name of another
// descriptor. The index has refused those of constants.
func (f *parsed) checkPlaceholderNames() error {
	if f.names.list == nil || f.index.Len() == f.graph.tensors {
		return nil
	}
	if i, twice := repeated(f.graph.tensors, f.names.of); twice {
		return f.nameTwice(f.names.of(i))
	}
	return nil
}

func (f *parsed) nameTwice(name []byte) error {
	return fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, "%q occurs twice", name)
}

// name returns the name of descriptor i, which is "tensor_<i>" unless the
// metadata says otherwise: that is made in room.
func (f *parsed) name(room []byte, i int) []byte {
	if f.names.list != nil {
		return f.names.of(i)
	}
	return strconv.AppendInt(append(room, "tensor_"...), int64(i), 10)
}

// Restore implements driver.Parsed: the list of names goes where it says no more
// than the tensors do.
func (f *parsed) Restore(p *driver.Plan) {
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e driver.Entry) bool {
		return e.Key == namesKey && namesTensors(e.Value, p.Tensors)
	})
}
