package wia

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// ModelMetadata is the metadata of section 5.1.
// The schema is not enforced: what it does not have, or what has another type
// than it says, is in the Extra of the object it was found in, with its own key.
type ModelMetadata struct {
	ModelInfo      ModelInfo
	TrainingInfo   TrainingInfo
	DeploymentInfo DeploymentInfo
	Extra          format.Metadata
}

// ModelInfo says what a model is. Empty strings are left out when it is written.
type ModelInfo struct {
	Name, Version, Description, Author, License string
	CreatedAt                                   string // ISO 8601
	Framework, FrameworkVersion                 string
	Extra                                       format.Metadata
}

// TrainingInfo says where a model comes from.
type TrainingInfo struct {
	Dataset         string
	Hyperparameters format.Metadata
	Metrics         format.Metadata
	Extra           format.Metadata
}

// DeploymentInfo says how a model is used.
type DeploymentInfo struct {
	TargetPlatforms      []string
	InputPreprocessing   format.Metadata
	OutputPostprocessing format.Metadata
	Extra                format.Metadata
}

// slot is a field of one of the structs: exactly one pointer is set.
type slot struct {
	key    string
	text   *string
	list   *[]string
	object *format.Metadata
}

func (m *ModelInfo) slots() []slot {
	return []slot{
		{key: "name", text: &m.Name}, {key: "version", text: &m.Version}, {key: "description", text: &m.Description},
		{key: "author", text: &m.Author}, {key: "license", text: &m.License}, {key: "created_at", text: &m.CreatedAt},
		{key: "framework", text: &m.Framework}, {key: "framework_version", text: &m.FrameworkVersion},
	}
}

func (m *TrainingInfo) slots() []slot {
	return []slot{{key: "dataset", text: &m.Dataset}, {key: "hyperparameters", object: &m.Hyperparameters}, {key: "metrics", object: &m.Metrics}}
}

func (m *DeploymentInfo) slots() []slot {
	return []slot{
		{key: "target_platforms", list: &m.TargetPlatforms},
		{key: "input_preprocessing", object: &m.InputPreprocessing}, {key: "output_postprocessing", object: &m.OutputPostprocessing},
	}
}

// section is one of the three objects.
type section struct {
	key   string
	slots []slot
	extra *format.Metadata
}

func (m *ModelMetadata) sections() []section {
	return []section{
		{"model_info", m.ModelInfo.slots(), &m.ModelInfo.Extra},
		{"training_info", m.TrainingInfo.slots(), &m.TrainingInfo.Extra},
		{"deployment_info", m.DeploymentInfo.slots(), &m.DeploymentInfo.Extra},
	}
}

// ModelMetadata returns the metadata block in its typed form. ErrClosed after
// Close.
func (f *File) ModelMetadata() (*ModelMetadata, error) {
	m := &ModelMetadata{}
	if err := f.m.Do(func() error { return nil }); err != nil {
		return nil, err
	}
	m.Set(f.Metadata())
	return m, nil
}

// Set fills m from the pairs of a metadata object.
func (m *ModelMetadata) Set(pairs format.Metadata) {
	*m = ModelMetadata{}
	sections := m.sections()
next:
	for _, e := range pairs {
		for _, s := range sections {
			if e.Key != s.key {
				continue
			}
			if inner, ok := object(e.Value); ok {
				s.fill(inner)
				continue next
			}
		}
		m.Extra = append(m.Extra, e)
	}
}

// fill takes the pairs of one section.
func (s section) fill(pairs format.Metadata) {
next:
	for _, e := range pairs {
		for _, p := range s.slots {
			if p.key == e.Key && p.take(e.Value) {
				continue next
			}
		}
		*s.extra = append(*s.extra, e)
	}
}

// take reports false for a value of another type.
func (p slot) take(value any) (ok bool) {
	switch {
	case p.text != nil:
		*p.text, ok = value.(string)
	case p.object != nil:
		*p.object, ok = object(value)
	default:
		*p.list, ok = texts(value)
	}
	return ok
}

// texts returns the elements of a value that is an array of strings.
func texts(value any) ([]string, bool) {
	var elems []*string // a JSON null is no string
	raw, ok := value.(json.RawMessage)
	if !ok || json.Unmarshal(raw, &elems) != nil {
		return nil, false
	}
	list := make([]string, len(elems))
	for i, e := range elems {
		if e == nil {
			return nil, false
		}
		list[i] = *e
	}
	return list, true
}

// object returns the pairs of a value that is a JSON object.
func object(value any) (format.Metadata, bool) {
	raw, ok := value.(json.RawMessage)
	if !ok || raw[0] != '{' {
		return nil, false
	}
	pairs, err := jsonmeta.Metadata(raw)
	return pairs, err == nil
}

// Metadata returns the pairs of m for format.Plan: sections and fields in the
// order of the specification, those that are empty left out, then the others.
func (m *ModelMetadata) Metadata() (format.Metadata, error) {
	var out format.Metadata
	for _, s := range m.sections() {
		var pairs format.Metadata
		for _, p := range s.slots {
			value, err := p.value()
			if err != nil {
				return nil, err
			}
			if value != nil {
				pairs = append(pairs, format.Entry{Key: p.key, Value: value})
			}
		}
		if pairs = append(pairs, *s.extra...); len(pairs) == 0 {
			continue
		}
		text, err := jsonmeta.Marshal(pairs, jsonmeta.Options{})
		if err != nil {
			return nil, err
		}
		out = append(out, format.Entry{Key: s.key, Value: json.RawMessage(text)})
	}
	return append(out, m.Extra...), nil
}

// value returns what is written, nil for nothing.
func (p slot) value() (any, error) {
	switch {
	case p.text != nil && *p.text != "":
		return *p.text, nil
	case p.list != nil && *p.list != nil:
		text, err := json.Marshal(*p.list)
		return json.RawMessage(text), err
	case p.object != nil && *p.object != nil:
		text, err := jsonmeta.Marshal(*p.object, jsonmeta.Options{})
		return json.RawMessage(text), err
	}
	return nil, nil
}
