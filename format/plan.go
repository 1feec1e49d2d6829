package format

// PlanOf returns the plan that writes an open model again: its metadata,
// tensors with their quantization, graph, and what only its format has. A format that cannot
// hold all of it refuses the plan, see LossError. It is the caller's to change: Native.Renamed
// says which tensors got other names, and what does not agree with the plan any more is a loss.
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
	if p.Native, err = m.Native(); err != nil {
		return nil, err
	}
	g, err := m.Graph()
	p.Graph = g.Clone()
	return p, err
}
