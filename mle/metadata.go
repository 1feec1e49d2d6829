package mle

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
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
	if len(m) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for i, entry := range m {
		if i > 0 {
			out = append(out, ',')
		}
		if entry.Key == namesKey {
			entry.Value = names
		}
		var err error
		if out, err = appendJSON(out, entry.Key); err == nil {
			out, err = appendJSON(append(out, ':'), entry.Value)
		}
		if err != nil {
			return nil, refuse(fmt.Sprintf("metadata %q", entry.Key), format.ErrUnsupported, "%v", err)
		}
	}
	out = append(out, '}')
	if err := jsonmeta.Check(out, jsonmeta.Options{LoneSurrogates: true}); err != nil {
		return nil, refuse("metadata", err, "no JSON object that readers take")
	}
	return out, nil
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
