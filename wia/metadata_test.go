package wia

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

func TestModelMetadata(t *testing.T) {
	text := `{"zebra": 1, "model_info": {"name":"ResNet50","version":"2.1.0","license":7,"x":null},
		"training_info": {"dataset":"ImageNet","hyperparameters":{"lr":1e-3,"layers":[1,2]},"metrics":"none"},
		"deployment_info": {"target_platforms":["cpu","gpu"],"input_preprocessing":{"scale":0.5}}, "last": {"a":1}}`
	want := &ModelMetadata{
		ModelInfo: ModelInfo{Name: "ResNet50", Version: "2.1.0", Extra: format.Metadata{{Key: "license", Value: int64(7)}, {Key: "x"}}},
		TrainingInfo: TrainingInfo{Dataset: "ImageNet", Hyperparameters: format.Metadata{{Key: "lr", Value: json.Number("1e-3")}, {Key: "layers", Value: json.RawMessage("[1,2]")}},
			Extra: format.Metadata{{Key: "metrics", Value: "none"}}},
		DeploymentInfo: DeploymentInfo{TargetPlatforms: []string{"cpu", "gpu"}, InputPreprocessing: format.Metadata{{Key: "scale", Value: json.Number("0.5")}}},
		Extra:          format.Metadata{{Key: "zebra", Value: int64(1)}, {Key: "last", Value: json.RawMessage(`{"a":1}`)}},
	}
	f := mustOpen(t, container{meta: []byte(text)}.bytes(), nil)
	got, err := f.ModelMetadata()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	pairs, err := got.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, writeSample(t, &format.Plan{Metadata: pairs}, nil), nil)
	if got, err = g.ModelMetadata(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f.Close()
	if _, err := f.ModelMetadata(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if f.Metadata() != nil {
		t.Error("metadata of a closed file")
	}
}

func TestModelMetadataOfOtherTypes(t *testing.T) {
	for _, text := range []string{`{"model_info":7}`, `{"training_info":[]}`, `{"deployment_info":"x"}`, `{"model_info":null}`} {
		f := mustOpen(t, container{meta: []byte(text)}.bytes(), nil)
		m, err := f.ModelMetadata()
		if err != nil || len(m.Extra) != 1 {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
	var m ModelMetadata
	m.Set(format.Metadata{{Key: "deployment_info", Value: json.RawMessage(`{"target_platforms":["a",null]}`)}})
	if m.DeploymentInfo.TargetPlatforms != nil || len(m.DeploymentInfo.Extra) != 1 {
		t.Errorf("%+v", m.DeploymentInfo)
	}
}
