package convert

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor/quant"
)

// packedField is the Field of the error of packed weights in a target that would take them for
// numbers.
const packedField = "packed weights"

// packed reports the packed weights that are copied as they are. A target whose programs compute
// with the elements of a tensor has no use for them, and refuses them.
func (j *job) packed(m *format.Model, g *schema.Graph) error {
	if g != nil && len(g.Nodes) > 0 {
		return nil // the graph says what the tensors mean
	}
	j.report.Packed = quant.FindPacked(j.plan.infos())
	if len(j.report.Packed) == 0 || !j.computes() || m.Format() == j.format {
		return nil
	}
	return located(m, packedField, fmt.Errorf("%w: %s, and programs that read %s would take the bytes for numbers", format.ErrUnsupported, j.these(), j.format))
}

// these describes the first packed weights.
func (j *job) these() string {
	p := quant.FindPacked(j.plan.infos())[0]
	if len(p.Weights) == 1 {
		return fmt.Sprintf("%q is a packed %s weight", j.plan.items[p.Weights[0]].to.Name, p.Scheme)
	}
	return fmt.Sprintf("%d tensors are packed %s weights, the first is %q", len(p.Weights), p.Scheme,
		j.plan.items[p.Weights[0]].to.Name)
}

// computes reports whether programs that read the target's format compute with its tensors by their
// types, and know no conventions of names.
func (j *job) computes() bool {
	_, hasOperators := j.driver.(driver.Vocabulary)
	return hasOperators || j.format == "gguf"
}
