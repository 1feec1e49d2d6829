package mle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/jsontext"
)

// namesKey is the metadata key for the names of all descriptors.
const namesKey = "tensor_names"

// readMetadata reads the metadata and the names of the descriptors in it. Without a list
// of names, the names are "tensor_0" and so on.
func (f *parsed) readMetadata() error {
	if f.meta != nil {
		o := jsonmeta.Options{LoneSurrogates: true, Memory: f.memory, Stored: f.h.Metadata.Size, Value: f.metadataValue}
		var err error
		if f.metadata, err = jsonmeta.Parse(f.meta, o); err != nil {
			return jsonError(err, "metadata", f.h.Metadata.Offset)
		}
	}
	if len(f.ir.Tensors) == 0 || f.ir.Tensors[0].Name != "" || f.namesErr != nil {
		return nil
	}
	var all strings.Builder // it does not grow, so the names share its memory
	all.Grow(len("tensor_4294967295") * len(f.ir.Tensors))
	name := []byte("tensor_")
	for i := range f.ir.Tensors {
		from := all.Len()
		all.Write(strconv.AppendInt(name, int64(i), 10))
		f.ir.Tensors[i].Name = all.String()[from:]
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
// precedence; an invalid name becomes namesErr.
func (f *parsed) readNames(s *jsonmeta.Scanner) error {
	bad := func(text string, args ...any) {
		if f.namesErr == nil {
			f.namesErr = fail(namesKey, f.h.Metadata.Offset, format.ErrCorrupt, text, args...)
		}
	}
	if !bytes.HasPrefix(f.meta[s.Offset():], []byte("[")) {
		bad("not an array")
		return s.Skip()
	}
	text, n := string(f.meta), 0 // the names share the memory of text
	err := s.Array(func(i int) error {
		at := s.Offset()
		if !bytes.HasPrefix(f.meta[at:], []byte(`"`)) {
			bad("element %d is not a string", i)
			return s.Skip()
		}
		raw, err := s.Text()
		if err != nil {
			return err
		}
		name := text[at+1 : s.Offset()-1]
		if s.Escaped() {
			// The text is valid UTF-8, but an escape may be a lone surrogate.
			if _, whole, _ := jsonmeta.Text(f.meta[at:s.Offset()]); !whole || bytes.IndexByte(raw, 0) >= 0 {
				bad("name %d is not valid UTF-8, or contains a NUL character", i)
			}
			name = string(raw)
		}
		switch {
		case name == "":
			bad("element %d is empty", i)
		case i >= len(f.ir.Tensors):
			bad("more names than the %d tensors", len(f.ir.Tensors))
		default:
			f.ir.Tensors[i].Name = name
		}
		n = i + 1
		return nil
	})
	if n < len(f.ir.Tensors) {
		bad("%d names for %d tensors", n, len(f.ir.Tensors))
	}
	return err
}

// restore removes a list of names that matches the tensors.
func restore(p *plan.Plan) {
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e plan.Entry) bool {
		return e.Key == namesKey && namesTensors(e.Value, p.Tensors)
	})
}

// encodeMetadata returns the metadata object. The names of all descriptors are in the
// entry tensor_names, at the position of the caller's entry, else at the end.
func encodeMetadata(m format.Metadata, all []Descriptor) []byte {
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
		members[i], _ = member(e.Key, e.Value) // Losses has checked it
	}
	return object(members)
}

// member returns a member of a JSON object that readers accept.
func member(key string, value any) ([]byte, error) {
	w := jsontext.Writer{Finite: true}
	w.Raw("{")
	w.Key(0, key)
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
	note := func(when bool, text string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(text, args...))
		}
	}
	note(h.Shift > 0, "sections are %d bytes behind the offsets in the header", h.Shift)
	note(h.LegacySignature != 0, "version 1 signature_offset %d ignored", h.LegacySignature)
	if h.Version > 1 {
		note(h.HeaderChecksum == 0, "header checksum not recorded")
		note(h.MetadataChecksum == 0, "metadata checksum not recorded")
		note(h.GraphChecksum == 0, "graph checksum not recorded")
		note(h.WeightsChecksum == 0, "weights checksum not recorded")
	}
	unknown := h.Features &^ knownFeatures
	note(unknown != 0, "unknown feature flags %#x", uint32(unknown))
	note(f.beyond > 0, "the graph uses ids that no tensor descriptor has")
	note(f.flushed.Load(), "the checksum of the float16 weights takes subnormal halves and -0 for 0, as the reference implementation does")
	note(f.needsKey(), "weights are encrypted and no key was given")
	return notes
}
