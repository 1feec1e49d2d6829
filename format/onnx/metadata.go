package onnx

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/opsets"
)

// metadata returns the fields of the model under their names, then metadata_props.
func (m *model) metadata() driver.Metadata {
	out := make(driver.Metadata, 0, 7+len(m.props))
	add := func(key string, value any) { out = append(out, driver.Entry{Key: key, Value: value}) }
	for _, p := range []struct {
		key    string
		number *int64
		text   *string
	}{
		{keyIRVersion, m.irVersion, nil}, {keyProducerName, nil, m.producer}, {keyProducerVersion, nil, m.producerVersion},
		{keyDomain, nil, m.domain}, {keyModelVersion, m.modelVersion, nil}, {keyDocString, nil, m.doc},
	} {
		switch {
		case p.number != nil:
			add(p.key, *p.number)
		case p.text != nil:
			add(p.key, *p.text)
		}
	}
	if len(m.opsets) > 0 {
		list := make([]opsets.Set, len(m.opsets))
		for i, s := range m.opsets {
			list[i] = opsets.Set{Domain: s.domain, Version: s.version}
		}
		text, _ := json.Marshal(list) // which texts and numbers cannot fail
		add(keyOperatorSets, json.RawMessage(text))
	}
	for _, p := range m.props {
		add(p.key, p.value)
	}
	return out
}

// notes lists what is tolerable but worth knowing.
func (f *parsed) notes() []string {
	var notes []string
	if f.model.irVersion == nil {
		notes = append(notes, "the file does not say its IR version")
	}
	if len(f.model.opsets) == 0 {
		notes = append(notes, "the file imports no operator sets")
	}
	return notes
}
