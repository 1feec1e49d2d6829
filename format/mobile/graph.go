package mobile

// GraphJSON returns the operator graph as one JSON object. It is empty for a file
// without a graph:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// Inputs of nodes name graph inputs, tensors of the model, or outputs of other
// nodes. A dim of -1 is decided at run time. A dtype is empty where the file has none.
// Attributes that are tensors are shown by dtype and shape.
func (m *Model) GraphJSON() (string, error) {
	open, err := m.open()
	if err != nil {
		return "", err
	}
	graph, err := open.Graph()
	if err == nil && len(m.names.ids) > 0 {
		p, failed := formerPlan(open)
		graph, err = p.Graph, failed
	}
	if err != nil || graph == nil {
		return "", err
	}
	text, err := graph.MarshalJSON()
	if err != nil {
		return "", m.fail("graph", err)
	}
	return string(text), nil
}
