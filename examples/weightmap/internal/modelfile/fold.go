package modelfile

import (
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// Fold combines tensors of a model with what says which real numbers they are: the scales and zero
// points of DequantizeLinear nodes, and scales that lie beside weights. It leaves those whose
// scales the other model has too, as tensors that can be compared as they are.
func (m *NamedModel) Fold(other *NamedModel) error {
	m.combined = map[string]tensor.View{}
	m.gone = map[string]bool{}
	m.real = map[string]string{}
	g, err := m.Graph()
	if err != nil {
		return err
	}
	if g != nil && len(g.Nodes) > 0 {
		m.foldNodes(g, other)
		return nil
	}
	return m.foldPairs(other)
}

// foldNodes follows DequantizeLinear nodes.
func (m *NamedModel) foldNodes(g *schema.Graph, other *NamedModel) {
	uses := map[string]int{}
	g.Values(func(s *string) { uses[*s]++ })
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !dequantizes(n) || other.has(n.Inputs[1]) {
			continue
		}
		v, isKnown := m.dequantized(n)
		if !isKnown {
			continue
		}
		m.combined[n.Inputs[0]] = v
		m.real[n.Outputs[0]] = n.Inputs[0]
		for _, name := range n.Inputs[1:] {
			uses[name]--
			m.gone[name] = uses[name] == 0
		}
	}
}

// dequantizes reports whether a node is DequantizeLinear.
func dequantizes(n *schema.Node) bool {
	return n.Op == "DequantizeLinear" && n.Domain == "" && len(n.Inputs) >= 2 && len(n.Inputs) <= 3 &&
		len(n.Outputs) == 1
}

// dequantized returns the constant of a DequantizeLinear node with its parameters, unless they have
// another form than tensor.Quantization, or differ from those of a node before.
func (m *NamedModel) dequantized(n *schema.Node) (v tensor.View, isKnown bool) {
	var constants [3]tensor.View
	for k, name := range n.Inputs {
		constant, err := m.Model.Tensor(name)
		if err != nil {
			return v, false
		}
		constants[k] = constant
	}
	before, isCombined := m.combined[n.Inputs[0]]
	if isCombined {
		constants[0] = before
	}
	axis := int64(1)
	for _, a := range n.Attributes {
		value, ok := a.Value.(int64)
		if ok && a.Name == "axis" {
			axis = value
		}
	}
	v, err := quant.Linear(constants[0], constants[1], constants[2], int(axis))
	return v, err == nil
}

// foldPairs joins weights with their scales.
func (m *NamedModel) foldPairs(other *NamedModel) error {
	var infos []tensor.Info
	var views []tensor.View
	for name, v := range m.Tensors() {
		info := v.Info()
		info.Name = name
		infos = append(infos, info)
		views = append(views, v)
	}
	for _, p := range quant.Pairs(infos) {
		weight := infos[p.Weight].Name
		scale := infos[p.Scale].Name
		if other.has(scale) || p.Name != weight && m.has(p.Name) {
			continue
		}
		v, err := quant.Join(views[p.Weight], views[p.Scale])
		if err != nil {
			return err
		}
		m.combined[p.Name] = v
		m.gone[scale] = true
		if p.Name != weight {
			m.gone[weight] = true
			m.added = append(m.added, p.Name)
		}
	}
	return nil
}

// has reports whether the model has a tensor of that name.
func (m *NamedModel) has(name string) bool {
	_, err := m.Tensor(name)
	return err == nil
}

// FoldedGraph returns a copy of the graph without the nodes that were followed.
func (m *NamedModel) FoldedGraph() (*schema.Graph, error) {
	g, err := m.Graph()
	if g == nil || err != nil || len(m.real) == 0 {
		return g, err
	}
	g = g.Clone()
	nodes := g.Nodes[:0]
	for _, n := range g.Nodes {
		if len(n.Outputs) == 1 && m.real[n.Outputs[0]] != "" {
			continue
		}
		nodes = append(nodes, n)
	}
	g.Nodes = nodes
	g.Values(func(s *string) {
		name, ok := m.real[*s]
		if ok {
			*s = name
		}
	})
	return g, nil
}
