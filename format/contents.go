package format

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Metadata returns a copy of the file's key-value pairs, in file order: none for formats without
// metadata. Metadata that does not fit Options.MaxMemory is ErrLimit.
func (m *Model) Metadata() (schema.Metadata, error) {
	m = m.opened()
	meta, err := inside(m, func() (schema.Metadata, error) {
		if m.parsed.LazyMetadata != nil {
			return m.parsed.LazyMetadata()
		}
		return m.parsed.Metadata, nil
	})
	return slices.Clone(meta), err
}

// Value returns the value of a metadata key: the first, if the file repeats it. The error is
// ErrNotFound if there is none. It costs one value, where Metadata costs all of them.
func (m *Model) Value(key string) (any, error) {
	m = m.opened()
	return inside(m, func() (any, error) {
		value, ok, err := m.valueOf(key)
		if err != nil {
			return value, err
		}
		if !ok {
			field := fmt.Sprintf("metadata %q", key)
			return value, m.locate(tensor.ErrNotFound, m.path, field)
		}
		return value, nil
	})
}

func (m *Model) valueOf(key string) (value any, ok bool, err error) {
	p := m.parsed
	if p.LazyValue != nil {
		return p.LazyValue(key)
	}
	meta := p.Metadata
	if p.LazyMetadata != nil {
		meta, err = p.LazyMetadata()
	}
	value, ok = meta.Get(key)
	return value, ok, err
}

// Graph returns the operator graph, nil if the file has none. It may be shared with other callers:
// to change it, use Clone.
func (m *Model) Graph() (*schema.Graph, error) {
	m = m.opened()
	if m.parsed.Graph == nil {
		return nil, nil
	}
	return inside(m, func() (*schema.Graph, error) { return m.parsed.Graph, nil })
}

// Native returns what only the format of the file can store, nil for nothing. Each call encodes it
// again.
func (m *Model) Native() (*schema.Native, error) {
	m = m.opened()
	if m.parsed.Native == nil {
		return nil, nil
	}
	return inside(m, m.parsed.Native)
}

// CheckClaim checks that the key in the file (Signature.PublicKey) made the signature over the hash
// or digests that the file records, without comparing these with its data: Verify does both.
// Otherwise the error is ErrSignature. It is nil for an unsigned file and for one that names no
// key. Anybody can sign: only a trusted key says who did.
func (m *Model) CheckClaim() error {
	m = m.opened()
	if m.parsed.CheckClaim == nil {
		return nil
	}
	return m.within(m.parsed.CheckClaim)
}

// RestoreNames sets the tensor names in p, a schema of this model (Model.Schema), to those that the
// tensors had before the format numbered them, if the file has stored them
// (WriteOptions.KeepNames). It removes the metadata that every file of the format has, where they
// say nothing: a copy in the format has them again.
func (m *Model) RestoreNames(p *schema.Schema) error {
	m = m.opened()
	restore := m.parsed.Restore
	if restore == nil {
		return nil
	}
	return m.Guard(func() error {
		restore(p)
		return nil
	})
}

// Notes lists irregularities of the file that are not errors, such as "header checksum not
// recorded", and says if it is a part of a model.
func (m *Model) Notes() []string {
	m = m.opened()
	var notes []string
	_ = m.within(func() error {
		notes = slices.Clone(m.parsed.Notes)
		if m.parsed.LazyNotes != nil {
			notes = append(notes, m.parsed.LazyNotes()...)
		}
		return nil
	})
	notes = append(m.engineNotes(notes), m.foundNotes()...)
	p := m.part()
	if p.Count > 0 {
		notes = append([]string{p.String()}, notes...)
	}
	return notes
}
