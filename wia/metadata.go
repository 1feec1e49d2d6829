package wia

import (
	"encoding/json"
	"slices"

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

// slot is a field of one of the structs: a *string, a *[]string or a *format.Metadata.
type slot struct {
	key string
	to  any
}

// section is one of the three objects.
type section struct {
	key   string
	extra *format.Metadata
	slots []slot
}

func (m *ModelMetadata) sections() []section {
	i, t, d := &m.ModelInfo, &m.TrainingInfo, &m.DeploymentInfo
	return []section{
		{"model_info", &i.Extra, []slot{
			{"name", &i.Name}, {"version", &i.Version}, {"description", &i.Description}, {"author", &i.Author}, {"license", &i.License},
			{"created_at", &i.CreatedAt}, {"framework", &i.Framework}, {"framework_version", &i.FrameworkVersion},
		}},
		{"training_info", &t.Extra, []slot{{"dataset", &t.Dataset}, {"hyperparameters", &t.Hyperparameters}, {"metrics", &t.Metrics}}},
		{"deployment_info", &d.Extra, []slot{
			{"target_platforms", &d.TargetPlatforms}, {"input_preprocessing", &d.InputPreprocessing}, {"output_postprocessing", &d.OutputPostprocessing},
		}},
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
	for _, e := range pairs {
		k := slices.IndexFunc(sections, func(s section) bool { return s.key == e.Key })
		inner, ok := object(e.Value)
		if k < 0 || !ok {
			m.Extra = append(m.Extra, e)
			continue
		}
		s := sections[k]
		for _, e := range inner {
			k := slices.IndexFunc(s.slots, func(p slot) bool { return p.key == e.Key })
			if k < 0 || !s.slots[k].take(e.Value) {
				*s.extra = append(*s.extra, e)
			}
		}
	}
}

// take reports false for a value of another type.
func (p slot) take(value any) (ok bool) {
	switch to := p.to.(type) {
	case *string:
		*to, ok = value.(string)
	case *format.Metadata:
		*to, ok = object(value)
	case *[]string:
		*to, ok = texts(value)
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
	var text []byte
	var err error
	switch from := p.to.(type) {
	case *string:
		if *from == "" {
			return nil, nil
		}
		return *from, nil
	case *format.Metadata:
		if *from == nil {
			return nil, nil
		}
		text, err = jsonmeta.Marshal(*from, jsonmeta.Options{})
	case *[]string:
		if *from == nil {
			return nil, nil
		}
		text, err = json.Marshal(*from)
	}
	return json.RawMessage(text), err
}
