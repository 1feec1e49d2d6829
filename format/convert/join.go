package convert

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// join replaces each tensor and its scales in the plan by one tensor, and returns the views of the new
// plan.
func (j *job) join(m *format.Model, p *format.Plan, views []tensor.View) ([]tensor.View, error) {
	if p.Graph != nil && len(p.Graph.Nodes) > 0 {
		return nil, located(m, "", fmt.Errorf("%w: nodes of its graph use weights and scales apart, so they cannot be joined", format.ErrUnsupported))
	}
	pairs := quant.Pairs(p.Tensors)
	if len(pairs) == 0 {
		return nil, located(m, "", fmt.Errorf("%w: no tensor has its scales in another one", format.ErrOption))
	}
	j.joined = make(map[string]bool, len(pairs))
	scales := make(map[int]bool, len(pairs))
	for _, pair := range pairs {
		v, err := quant.Join(views[pair.Weight], views[pair.Scale])
		if err != nil {
			return nil, err
		}
		views[pair.Weight] = v
		p.Tensors[pair.Weight] = tensor.Info{Name: pair.Name, DType: tensor.Float32, Shape: v.Shape().Clone()}
		j.joined[pair.Name], scales[pair.Scale] = true, true
	}
	tensors, kept := p.Tensors[:0], views[:0]
	for i := range views {
		if !scales[i] {
			tensors, kept = append(tensors, p.Tensors[i]), append(kept, views[i])
		}
	}
	p.Tensors = tensors
	return kept, nil
}
