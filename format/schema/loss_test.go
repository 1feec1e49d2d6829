package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLossPart(t *testing.T) {
	for _, test := range []struct {
		loss Loss
		want string
	}{
		{Loss{Kind: LossQuantization, Name: "w"}, `quantization of tensor "w"`},
		{Loss{Kind: LossName, Name: "w"}, `name of tensor "w"`},
		{Loss{Kind: LossShape, Name: "w"}, `shape of tensor "w"`},
		{Loss{Kind: LossDType, Name: "w\x1b"}, `tensor "w\x1b"`},
		{Loss{Kind: LossMetadata, Name: "author"}, `metadata "author"`},
		{Loss{Kind: LossConversion, Name: `metadata "x"`}, `metadata "x"`},
		{Loss{Kind: LossGraph}, "graph"},
		{Loss{Kind: LossGraph, Name: "nodes[1] (Erf)"}, "graph nodes[1] (Erf)"},
		{Loss{Kind: LossTensors}, "tensors"},
		{Loss{Kind: LossMetadata, Name: strings.Repeat("x", 1000)}, `metadata "` + strings.Repeat("x", 80) + `..."`},
	} {
		if diff := cmp.Diff(test.want, test.loss.Part()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.loss, diff)
		}
	}
}
