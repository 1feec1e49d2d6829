package mle

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestRestore: the list of names says nothing that the tensors do not, unless it is
// that of others.
func TestRestore(t *testing.T) {
	for list, want := range map[string]int{`["w"]`: 1, `["x","w","y"]`: 1, `["v"]`: 2, `{}`: 2} {
		p := &format.Plan{
			Metadata: format.Metadata{{Key: "a", Value: "b"}, {Key: "tensor_names", Value: json.RawMessage(list)}},
			Tensors:  []tensor.Info{{Name: "w"}},
		}
		restore(p)
		if d := cmp.Diff(want, len(p.Metadata)); d != "" {
			t.Errorf("%s: %s", list, d)
		}
	}
}
