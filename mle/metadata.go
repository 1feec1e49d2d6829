package mle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// namesKey is the metadata key for the names of all descriptors.
const namesKey = "tensor_names"

// readMetadata reads the metadata.
func (p *parser) readMetadata() error {
	f := p.f
	if f.meta == nil {
		return nil
	}
	o := jsonOptions
	o.Memory = f.memory
	o.Stored = f.h.Metadata.Size
	metadata, err := jsonmeta.Parse(f.meta, o)
	if err != nil {
		return jsonError(err, "metadata", f.h.Metadata.Offset)
	}
	f.metadata = metadata
	return nil
}

// readNames sets the names of the descriptors: those in the metadata, or "tensor_0" and so on.
func (p *parser) readNames() error {
	all := p.f.ir.Tensors
	n := 0
	list, ok := p.f.metadata.Get(namesKey)
	if !ok {
		for i := range all {
			all[i].Name = "tensor_" + strconv.Itoa(i)
		}
		return nil
	}
	at := p.f.h.Metadata.Offset
	err := eachName(list, func(name string) error {
		if n == len(all) {
			return fmt.Errorf("%w: more names than the %d tensors", format.ErrCorrupt, n)
		}
		all[n].Name = name
		n++
		return nil
	})
	if err != nil {
		return wire.Error(formatName, namesKey, at, err)
	}
	if n < len(all) {
		return corruptf(namesKey, at, "%d names for %d tensors", n, len(all))
	}
	return nil
}

// eachName calls each for the names in a list of them, a value of metadata. It fails for any other
// value.
func eachName(list any, each func(name string) error) error {
	raw, _ := list.(json.RawMessage)
	s := jsonmeta.NewScanner(raw, jsonmeta.Options{})
	text := string(raw) // names share the memory of text
	return s.Array(func(int) error {
		at := s.Offset() + 1
		name, err := s.Text()
		if err != nil {
			return err
		}
		plain := text[at : s.Offset()-1]
		if len(plain) == len(name) && plain != "" {
			return each(plain) // without escapes, such as that of NUL
		}
		err = tensor.CheckName(string(name))
		if err != nil {
			return err
		}
		return each(string(name))
	})
}

// restore removes a list of names that matches the tensors.
func restore(p *schema.Schema) {
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e schema.Entry) bool {
		return e.Key == namesKey && namesTensors(e.Value, p.Tensors)
	})
}

// encodeMetadata returns the metadata object, nil for none. The names of all descriptors are in
// the entry tensor_names, at the position of the caller's entry, else at the end.
func encodeMetadata(m schema.Metadata, all []Descriptor) []byte {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	m = slices.Clone(m)
	i := slices.IndexFunc(m, func(e schema.Entry) bool { return e.Key == namesKey })
	switch {
	case i >= 0:
		m[i].Value = names
	case len(names) > 0:
		m = append(m, schema.Entry{Key: namesKey, Value: names})
	case len(m) == 0:
		return nil
	}
	text, _ := jsonmeta.Marshal(m, jsonOptions) // Losses has checked it
	return text
}

// notes lists irregularities that readers tolerate, including those that Verify has
// found.
func (f *parsed) notes() []string {
	var notes []string
	h := &f.h
	if h.Shift > 0 {
		notes = append(notes, fmt.Sprintf("sections are %d bytes behind the offsets in the header",
			h.Shift))
	}
	if h.LegacySignature != 0 {
		notes = append(notes, fmt.Sprintf("version 1 signature_offset %d ignored", h.LegacySignature))
	}
	for _, part := range h.unrecorded() {
		notes = append(notes, part+" checksum not recorded")
	}
	unknown := h.Features &^ knownFeatures
	if unknown != 0 {
		notes = append(notes, fmt.Sprintf("unknown feature flags %#x", uint32(unknown)))
	}
	if f.beyond > 0 {
		notes = append(notes, "the graph uses ids that no tensor descriptor has")
	}
	if f.flushed.Load() {
		notes = append(notes, "the checksum of the float16 weights takes subnormal halves and -0 for 0, "+
			"as the reference implementation does")
	}
	if f.needsKey() {
		notes = append(notes, "weights are encrypted and no key was given")
	}
	return notes
}

// unrecorded lists the parts whose checksum a version 2 header does not have.
func (h *Header) unrecorded() []string {
	if h.Version == 1 {
		return nil
	}
	var parts []string
	sums := [...]uint32{h.HeaderChecksum, h.MetadataChecksum, h.GraphChecksum, h.WeightsChecksum}
	for i, part := range []string{"header", "metadata", "graph", "weights"} {
		if sums[i] == 0 {
			parts = append(parts, part)
		}
	}
	return parts
}
