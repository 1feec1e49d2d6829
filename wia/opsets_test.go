package wia

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOperatorSets reads the versions of ONNX models from the metadata, and values
// that only look like them.
func TestOperatorSets(t *testing.T) {
	none := []OperatorSet(nil)
	for _, c := range []struct {
		text string
		sets []OperatorSet
		ir   int64
	}{
		{`{}`, none, 0},
		{`{"opsets": [{"domain": "ai.onnx", "version": 17}], "ir_version": 8}`, []OperatorSet{{"ai.onnx", 17}}, 8},
		{`{"opsets":[ {"version":13,"domain":""} , {"domain":"com.é","version":1} ]}`, []OperatorSet{{"", 13}, {"com.é", 1}}, 0},
		{`{"opsets":[]}`, []OperatorSet{}, 0},
		{`{"opsets":[{"version":13}],"ir_version":0}`, []OperatorSet{{"", 13}}, 0},
		{`{"opsets":[{"domain":"a","version":1,"since":2}]}`, []OperatorSet{{"a", 1}}, 0},
		{`{"opsets":[{"domain":"a"}],"ir_version":"8"}`, none, 0},
		{`{"opsets":[13],"ir_version":8.5}`, none, 0},
		{`{"opsets":{"ai.onnx":13},"ir_version":null}`, none, 0},
		{`{"opsets":17,"ir_version":[8]}`, none, 0},
	} {
		f := mustOpen(t, container{meta: []byte(c.text)}.bytes(), nil)
		if d := cmp.Diff(c.sets, f.OperatorSets()); d != "" || f.IRVersion() != c.ir {
			t.Errorf("%s: version %d, sets (-want +got)\n%s", c.text, f.IRVersion(), d)
		}
		f.Close()
		if f.OperatorSets() != nil || f.IRVersion() != 0 {
			t.Errorf("%s: versions of a closed file", c.text)
		}
	}
}
