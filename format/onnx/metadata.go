package onnx

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/opsets"
)

// model is a ModelProto without its graph.
type model struct {
	fields [len(modelKeys)]any // by number: int64, string, or nil
	opsets []opsets.Set
	props  []stringEntry
}

type stringEntry struct{ key, value string }

// modelKeys are the metadata keys of single fields, by number.
var modelKeys = [...]string{
	irVersion: keyIRVersion, 2: keyProducerName, 3: keyProducerVersion, 4: keyDomain, modelVersion: keyModelVersion, 6: keyDocString,
}

// The fields that are numbers.
const (
	irVersion    = 1
	modelVersion = 5
)

// metadata returns the fields of the model under their names, then metadata_props.
func (m *model) metadata() driver.Metadata {
	out := make(driver.Metadata, 0, 7+len(m.props))
	add := func(key string, value any) { out = append(out, driver.Entry{Key: key, Value: value}) }
	for num, value := range m.fields {
		if value != nil {
			add(modelKeys[num], value)
		}
	}
	if len(m.opsets) > 0 {
		text, _ := json.Marshal(m.opsets) // which texts and numbers cannot fail
		add(keyOperatorSets, json.RawMessage(text))
	}
	for _, p := range m.props {
		add(p.key, p.value)
	}
	return out
}

// notes lists tolerated oddities.
func (f *parsed) notes() []string {
	var notes []string
	if f.model.fields[irVersion] == nil {
		notes = append(notes, "the file does not say its IR version")
	}
	if len(f.model.opsets) == 0 {
		notes = append(notes, "the file imports no operator sets")
	}
	return notes
}
