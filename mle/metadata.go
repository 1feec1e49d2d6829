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

// namesKey is the metadata key for the names of all descriptors.
const namesKey = "tensor_names"

// names holds the names of the descriptors.
type names struct {
	text  []byte
	ends  []int // end of each name in text
	found bool  // the metadata has a list of names
	err   error // the first error in the list
}

func (n *names) at(i int) []byte {
	if i == 0 {
		return n.text[:n.ends[0]]
	}
	return n.text[n.ends[i-1]:n.ends[i]]
}

func (n *names) add(name []byte) {
	n.text = append(n.text, name...)
	n.ends = append(n.ends, len(n.text))
}

// readMetadata reads the metadata and the names of the descriptors in it. Without a list
// of names, the names are "tensor_0" and so on.
func (f *parsed) readMetadata() error {
	f.names.ends = make([]int, 0, f.tensors)
	if f.meta != nil {
		o := jsonmeta.Options{LoneSurrogates: true, Memory: f.memory, Stored: f.h.Metadata.Size, Value: f.metadataValue}
		var err error
		if f.metadata, err = jsonmeta.Parse(f.meta, o); err != nil {
			return jsonError(err, "metadata", f.h.Metadata.Offset)
		}
	}
	for i := 0; !f.names.found && i < f.tensors; i++ {
		f.names.add(strconv.AppendInt([]byte("tensor_"), int64(i), 10))
	}
	return nil
}

// metadataValue parses a value of the metadata, and the names among them.
func (f *parsed) metadataValue(s *jsonmeta.Scanner, key string) (any, error) {
	if key != namesKey {
		return s.Value()
	}
	from := s.Offset()
	err := f.readNames(s)
	return json.RawMessage(f.meta[from:s.Offset()]), err
}

// readNames reads the list of names. It returns only errors of the JSON text, which take
// precedence; an invalid name becomes names.err.
func (f *parsed) readNames(s *jsonmeta.Scanner) error {
	n := &f.names
	n.found, n.text = true, make([]byte, 0, min(len(f.meta)-s.Offset(), 64*f.tensors))
	bad := func(text string, args ...any) {
		if n.err == nil {
			n.err = fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, text, args...)
		}
	}
	if !bytes.HasPrefix(f.meta[s.Offset():], []byte("[")) {
		bad("not an array")
		return s.Skip()
	}
	err := s.Array(func(i int) error {
		at := s.Offset()
		if !bytes.HasPrefix(f.meta[at:], []byte(`"`)) {
			bad("element %d is not a string", i)
			return s.Skip()
		}
		name, err := s.Text()
		switch {
		case err != nil || n.err != nil:
			return err
		case i == f.tensors:
			bad("more names than the %d tensors", f.tensors)
		case len(name) == 0:
			bad("element %d is empty", i)
		case s.Escaped():
			// The text is valid UTF-8, but an escape may be a lone surrogate.
			if _, whole, _ := jsonmeta.Text(f.meta[at:s.Offset()]); !whole || bytes.IndexByte(name, 0) >= 0 {
				bad("name %d is not valid UTF-8, or contains a NUL character", i)
			}
		}
		n.add(name)
		return nil
	})
	if len(n.ends) < f.tensors {
		bad("%d names for %d tensors", len(n.ends), f.tensors)
	}
	return err
}

// checkPlaceholderNames refuses a placeholder with the name of another descriptor. The
// index has refused duplicate names of constants.
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

// restore removes a list of names that matches the tensors.
func restore(p *driver.Plan) {
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e driver.Entry) bool {
		return e.Key == namesKey && namesTensors(e.Value, p.Tensors)
	})
}

// encodeMetadata returns the metadata object. The names of all descriptors are in the
// entry tensor_names, at the position of the caller's entry, else at the end.
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
			return nil, refuse(fmt.Sprintf("metadata %q", e.Key), err, "cannot be a member of a JSON object")
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
	if err, ok := value.(error); ok { // from jsonmeta.Value
		w.Fail(err)
	} else if !w.Value(value) {
		w.Fail(fmt.Errorf("a %T has no JSON form", value))
	}
	w.Raw("}")
	text, err := w.Done()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", format.ErrUnsupported, err)
	}
	_, err = jsonmeta.Parse(text, attributeJSON)
	return text[1 : len(text)-1], err
}

// object returns a JSON object with the given members, nil for none.
func object(members [][]byte) []byte {
	if len(members) == 0 {
		return nil
	}
	text := bytes.Join(members, []byte(","))
	return slices.Concat([]byte("{"), text, []byte("}"))
}

// notes lists irregularities that readers tolerate, including those that Verify has
// found.
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
