package format

// PlanOf returns the plan that writes an open model again: its metadata,
// tensors with their quantization, and graph. A format that cannot hold all of it
// refuses the plan, see LossError. It is the caller's to change.
func PlanOf(m *Model) (*Plan, error) {
	meta, err := m.engine().Metadata()
	if err != nil {
		return nil, err
	}
	p := &Plan{Metadata: meta}
	for _, v := range m.Tensors() {
		info := v.Info()
		info.Shape, info.Quant = info.Shape.Clone(), info.Quant.Clone()
		p.Tensors = append(p.Tensors, info)
	}
	p.Graph, err = m.Graph()
	return p, err
}
