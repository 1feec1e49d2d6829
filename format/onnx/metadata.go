package onnx

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/opsets"
)

// Metadata implements driver.Parsed: the fields of the model under their names,
// then metadata_props.
func (f *parsed) Metadata() (driver.Metadata, error) {
	var out driver.Metadata
	add := func(key string, value any) { out = append(out, driver.Entry{Key: key, Value: value}) }
	m := &f.model
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
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		add(keyOperatorSets, json.RawMessage(text))
	}
	for _, p := range m.props {
		add(p.key, p.value)
	}
	return out, nil
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
