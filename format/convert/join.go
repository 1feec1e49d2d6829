package convert

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// join replaces each tensor and its scales by one tensor.
func (j *job) join(m *format.Model, g *schema.Graph) error {
	if g != nil && len(g.Nodes) > 0 {
		return located(m, "", unsupported("the graph uses weights and scales separately, so they cannot be joined"))
	}
	pairs := quant.Pairs(j.plan.infos())
	if len(pairs) == 0 && len(quant.FindPacked(j.plan.infos())) > 0 {
		return located(m, "", unsupported(j.these()+", which joining does not decode"))
	}
	if len(pairs) == 0 {
		return located(m, "JoinScales", fmt.Errorf("%w: no tensor has its scales in another tensor",
			format.ErrOption))
	}
	scales := make(map[*item]bool, len(pairs))
	for _, pair := range pairs {
		weight := j.plan.items[pair.Weight]
		scale := j.plan.items[pair.Scale]
		v, err := quant.Join(weight.from, scale.from)
		if err != nil {
			return err
		}
		*weight = item{from: v, to: tensor.Info{Name: pair.Name, DType: tensor.Float32,
			Shape: v.Shape().Clone()}, changes: true}
		scales[scale] = true
	}
	j.plan.items = slices.DeleteFunc(j.plan.items,
		func(it *item) bool { return scales[it] || isMarker(it) })
	return nil
}

// isMarker reports whether a tensor only says that others have scales, as the image models of
// ComfyUI do.
func isMarker(it *item) bool {
	return it.to.Name == "scaled_fp8" && slices.Contains(it.to.Shape, 0)
}
