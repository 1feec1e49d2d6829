package wia

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// TestModelMetadata checks that values of another type, and unknown keys, are left
// out.
func TestModelMetadata(t *testing.T) {
	text := `{"zebra": 1, "model_info": {"name":"ResNet50","version":"2.1.0","license":7,"x":null},
		"training_info": {"dataset":"ImageNet","hyperparameters":{"lr":1e-3,"layers":[1,2]},"metrics":"none"},
		"deployment_info": {"target_platforms":["cpu","gpu"],"input_preprocessing":{"scale":0.5}}, "last": {"a":1}}`
	want := &ModelMetadata{
		ModelInfo:      ModelInfo{Name: "ResNet50", Version: "2.1.0"},
		TrainingInfo:   TrainingInfo{Dataset: "ImageNet", Hyperparameters: json.RawMessage(`{"lr":1e-3,"layers":[1,2]}`), Metrics: json.RawMessage(`"none"`)},
		DeploymentInfo: DeploymentInfo{TargetPlatforms: []string{"cpu", "gpu"}, InputPreprocessing: json.RawMessage(`{"scale":0.5}`)},
	}
	f := mustOpen(t, container{meta: []byte(text)}.bytes(), nil)
	got, err := f.ModelMetadata()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	pairs, err := got.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, writeSample(t, &format.Plan{Metadata: pairs}, nil), nil)
	if got, err = g.ModelMetadata(); err != nil || len(g.Metadata()) != 3 {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f.Close()
	if _, err := f.ModelMetadata(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	for _, text := range []string{"", `{"model_info":7}`, `{"training_info":[]}`, `{"model_info":null}`} {
		m, err := mustOpen(t, container{meta: []byte(text)}.bytes(), nil).ModelMetadata()
		if diff := cmp.Diff(&ModelMetadata{}, m); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}
