package wia

import (
	"encoding/json"
	"errors"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// ModelMetadata is the metadata of section 5.1. The schema is not enforced:
// unknown keys, and values of another type, are only in File.Metadata.
type ModelMetadata struct {
	ModelInfo      ModelInfo      `json:"model_info,omitzero"`
	TrainingInfo   TrainingInfo   `json:"training_info,omitzero"`
	DeploymentInfo DeploymentInfo `json:"deployment_info,omitzero"`
}

// ModelInfo describes a model. Empty strings are omitted when it is written.
type ModelInfo struct {
	Name             string `json:"name,omitempty"`
	Version          string `json:"version,omitempty"`
	Description      string `json:"description,omitempty"`
	Author           string `json:"author,omitempty"`
	License          string `json:"license,omitempty"`
	CreatedAt        string `json:"created_at,omitempty"` // ISO 8601
	Framework        string `json:"framework,omitempty"`
	FrameworkVersion string `json:"framework_version,omitempty"`
}

// TrainingInfo describes the training of a model.
type TrainingInfo struct {
	Dataset         string          `json:"dataset,omitempty"`
	Hyperparameters json.RawMessage `json:"hyperparameters,omitempty"`
	Metrics         json.RawMessage `json:"metrics,omitempty"`
}

// DeploymentInfo describes the use of a model.
type DeploymentInfo struct {
	TargetPlatforms      []string        `json:"target_platforms,omitempty"`
	InputPreprocessing   json.RawMessage `json:"input_preprocessing,omitempty"`
	OutputPostprocessing json.RawMessage `json:"output_postprocessing,omitempty"`
}

// ModelMetadata returns the metadata block in typed form. After Close it fails
// with ErrClosed.
func (f *File) ModelMetadata() (*ModelMetadata, error) {
	m := &ModelMetadata{}
	err := f.Do(func() error {
		if len(f.f.meta.Win) == 0 {
			return nil
		}
		return json.Unmarshal(f.f.meta.Win, m)
	})
	if other := (*json.UnmarshalTypeError)(nil); errors.As(err, &other) {
		err = nil
	}
	return m, err
}

// Metadata returns m as the Metadata of a format.Plan.
func (m *ModelMetadata) Metadata() (format.Metadata, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return jsonmeta.Parse(text, jsonmeta.Options{LoneSurrogates: true})
}
