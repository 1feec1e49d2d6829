package format

// PlanOf returns the plan that writes an open model again: its metadata,
// tensors and graph.
func PlanOf(m *Model) (*Plan, error) {
	p := &Plan{}
	var err error
	p.Metadata = m.Metadata()
	for _, v := range m.Tensors() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	p.Graph, err = m.Graph()
	return p, err
}
