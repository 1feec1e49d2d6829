package all_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestRepeatedKey: a file of GGUF may have a key twice. Where keys are unique the second
// entry is a loss like others: listed, and left out where that is accepted.
func TestRepeatedKey(t *testing.T) {
	const key = "framework_version" // which MOBI has a field for
	plan := &format.Plan{
		Metadata: format.Metadata{{Key: key, Value: int64(1)}, {Key: key, Value: int64(2)}},
		Tensors:  []tensor.Info{list(tensor.Float32, "7", 1)},
	}
	for _, to := range []string{"mobi", "mag", "mle", "wia", "safetensors", "gguf", "onnx"} {
		t.Run(to, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m."+to)
			err := create(to, path, plan, nil)
			var lost *format.LossError
			if !errors.As(err, &lost) || !slices.ContainsFunc(lost.Losses, func(l format.Loss) bool {
				return l.Item() == "metadata:"+key && strings.Contains(l.Why, "twice") && l.Acceptable
			}) {
				t.Fatalf("not accepted: %v", err)
			}
			must(t, create(to, path, plan, &format.WriteOptions{AcceptLoss: []string{"metadata", "conversion"}}))
			var values []string
			for _, e := range open(t, path, nil).Metadata() {
				if text, err := e.Text(); e.Key == key && err == nil {
					values = append(values, text)
				}
			}
			if d := cmp.Diff([]string{"1"}, values); d != "" {
				t.Error(d)
			}
		})
	}
}
