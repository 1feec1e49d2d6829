package mle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/jsontext"
)

// namesKey is the metadata key of the names of all descriptors.
const namesKey = "tensor_names"

// names are the names of the descriptors.
type names struct {
	text []byte
	list []jsonmeta.Span
}

func (n *names) at(i int) []byte { return n.text[n.list[i].From:n.list[i].To] }

func (n *names) add(text []byte, name []byte) []byte {
	n.list = append(n.list, jsonmeta.Span{From: len(text), To: len(text) + len(name)})
	return append(text, name...)
}

// readMetadata reads the metadata and notices where the names of the descriptors are in it.
func (f *parsed) readMetadata(list *jsonmeta.Strings) error {
	if f.meta == nil {
		return nil
	}
	entries := func(n int) error {
		return f.memory.Build(int64(n)*jsonmeta.EntryBytes+int64(len(f.meta)), f.h.Metadata.Size)
	}
	err := f.check.Check(f.meta, jsonmeta.Options{LoneSurrogates: true, Strings: list, Entries: entries})
	if err != nil {
		return jsonError(err, "metadata", f.h.Metadata.Offset)
	}
	f.metadata = f.check.Metadata()
	return nil
}

// readNames reads the names of the descriptors from the metadata: one string each, all
// different. Without such a list they are "tensor_0" and so on.
func (f *parsed) readNames(list *jsonmeta.Strings) error {
	if list.Found && list.Plain && len(list.Spans) == f.tensors {
		f.names = names{f.meta, list.Spans}
		return nil
	}
	f.names.list = make([]jsonmeta.Span, 0, f.tensors)
	var text []byte
	if !list.Found {
		for i := range f.tensors {
			text = f.names.add(text, strconv.AppendInt([]byte("tensor_"), int64(i), 10))
		}
		f.names.text = text
		return nil
	}
	bad := func(text string, args ...any) error {
		return fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, text, args...)
	}
	var err error
	value, _ := f.metadata.Get(namesKey)
	array, _ := value.(json.RawMessage)
	ok := jsonmeta.Elements(array, func(raw []byte) bool {
		n := len(f.names.list)
		name, whole, _ := jsonmeta.Text(raw)
		switch {
		case n == f.tensors:
			err = bad("more names than the %d tensors", f.tensors)
		case len(name) == 0:
			err = bad("element %d is not a string, or an empty one", n)
		case !whole: // the text itself is valid UTF-8, but an escape is half a character
			err = bad("name %d is not valid UTF-8", n)
		case bytes.IndexByte(name, 0) >= 0:
			err = bad("name %d contains a NUL character", n)
		}
		text = f.names.add(text, name)
		return err == nil
	})
	switch n := len(f.names.list); {
	case err != nil:
		return err
	case !ok:
		return bad("not an array")
	case n < f.tensors:
		return bad("%d names for %d tensors", n, f.tensors)
	}
	f.names.text = text
	return nil
}

// checkPlaceholderNames refuses a placeholder with the name of another
// descriptor. The index has refused those of constants.
func (f *parsed) checkPlaceholderNames() error {
	if f.index.Len() == f.tensors {
		return nil
	}
	seen := make(map[string]bool, f.tensors)
	for i := range f.tensors {
		name := f.names.at(i)
		if seen[string(name)] {
			return f.nameTwice(name)
		}
		seen[string(name)] = true
	}
	return nil
}

func (f *parsed) nameTwice(name []byte) error {
	return fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, "%q occurs twice", name)
}

// restore removes a list of names that says no more than the tensors do.
func restore(p *driver.Plan) {
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e driver.Entry) bool {
		return e.Key == namesKey && namesTensors(e.Value, p.Tensors)
	})
}

// encodeMetadata makes the metadata object. The names of all descriptors are
// in tensor_names: where the caller has such an entry, else at the end.
func encodeMetadata(m format.Metadata, all []Descriptor) ([]byte, error) {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if _, ok := m.Get(namesKey); !ok && len(names) > 0 {
		m = append(m[:len(m):len(m)], format.Entry{Key: namesKey})
	}
	members := make([][]byte, len(m))
	for i, e := range m {
		if e.Key == namesKey {
			e.Value = names
		}
		var err error
		if members[i], err = member(e.Key, e.Value); err != nil {
			return nil, refuse(fmt.Sprintf("metadata %q", e.Key), err, "no member of a JSON object")
		}
	}
	return object(members), nil
}

// member returns a member of a JSON object that readers accept.
func member(key string, value any) ([]byte, error) {
	w := jsontext.Writer{Finite: true}
	w.Raw("{")
	w.Text(key)
	w.Raw(":")
	if err, ok := value.(error); ok { // of jsonmeta.Value
		w.Fail(err)
	} else if !w.Value(value) {
		w.Fail(fmt.Errorf("a %T has no JSON form", value))
	}
	w.Raw("}")
	text, err := w.Done()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrUnsupported, err)
	}
	return text[1 : len(text)-1], jsonmeta.Check(text, jsonmeta.Options{LoneSurrogates: true})
}

// object returns the JSON object of some members, nil for none.
func object(members [][]byte) []byte {
	if len(members) == 0 {
		return nil
	}
	text := bytes.Join(members, []byte(","))
	return slices.Concat([]byte("{"), text, []byte("}"))
}

// notes lists what is tolerable but worth knowing. What only Verify can find out is among them
// once it has.
func (f *parsed) notes() []string {
	var notes []string
	h := &f.h
	if h.Shift > 0 {
		notes = append(notes, fmt.Sprintf("sections are %d bytes behind the offsets in the header", h.Shift))
	}
	if h.LegacySignature != 0 {
		notes = append(notes, fmt.Sprintf("version 1 signature_offset %d ignored", h.LegacySignature))
	}
	if h.Version > 1 {
		for i, sum := range []uint32{h.HeaderChecksum, h.MetadataChecksum, h.GraphChecksum, h.WeightsChecksum} {
			if sum == 0 {
				notes = append(notes, [...]string{"header", "metadata", "graph", "weights"}[i]+" checksum not recorded")
			}
		}
	}
	if unknown := h.Features &^ knownFeatures; unknown != 0 {
		notes = append(notes, fmt.Sprintf("unknown feature flags %#x", uint32(unknown)))
	}
	if f.beyond > 0 {
		notes = append(notes, "the graph uses ids that no tensor descriptor has")
	}
	if f.flushed.Load() {
		notes = append(notes, "the checksum of the float16 weights takes subnormal halves and -0 for 0, as the reference implementation does")
	}
	if f.needsKey() {
		notes = append(notes, "weights are encrypted and no key was given")
	}
	return notes
}
