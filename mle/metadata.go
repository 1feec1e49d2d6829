package mle

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/jsontext"
)

// Metadata implements driver.Parsed.
func (f *parsed) Metadata() (driver.Metadata, error) {
	if f.meta == nil {
		return nil, nil
	}
	return jsonmeta.Metadata(f.meta)
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
		for _, s := range []struct {
			name string
			sum  uint32
		}{{"header", h.HeaderChecksum}, {"metadata", h.MetadataChecksum}, {"graph", h.GraphChecksum}, {"weights", h.WeightsChecksum}} {
			if s.sum == 0 {
				notes = append(notes, s.name+" checksum not recorded")
			}
		}
	}
	if unknown := h.Features &^ knownFeatures; unknown != 0 {
		notes = append(notes, fmt.Sprintf("unknown feature flags %#x", uint32(unknown)))
	}
	if f.graph.loose {
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
