package main

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/contract"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// fold combines tensors of a model with what says which real numbers they are: the scales and zero points of
// DequantizeLinear nodes, and scales that lie beside weights. It leaves those whose scales the other model has too, as
// tensors that can be compared as they are.
func (m *renamed) fold(other *renamed) error {
	m.combined, m.gone, m.real = map[string]tensor.View{}, map[string]bool{}, map[string]string{}
	g, err := m.Graph()
	if err != nil {
		return err
	}
	if g != nil && len(g.Nodes) > 0 {
		return m.foldNodes(g, other)
	}
	return m.foldPairs(other)
}

// foldNodes follows DequantizeLinear nodes.
func (m *renamed) foldNodes(g *format.Graph, other *renamed) error {
	uses := map[string]int{}
	contract.Values(g, func(s *string) { uses[*s]++ })
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !opsets.Dequantizes(n) {
			continue
		}
		constants := make([]tensor.View, len(n.Inputs))
		found := true
		for k, name := range n.Inputs {
			v, err := m.Model.Tensor(name)
			found = found && err == nil
			constants[k] = v
		}
		if !found || other.has(n.Inputs[1]) {
			continue
		}
		info := constants[0].Info()
		q, err := opsets.Quantization(n, &info, constants[1:])
		if err != nil {
			continue // a form of quantization that has no other
		}
		info.Quant = q
		ref := (*memory.Ref[tensor.Info])(&constants[0])
		m.combined[n.Inputs[0]] = tensor.View(memory.New(&info, ref.Owner(), ref.Data()))
		m.real[n.Outputs[0]] = n.Inputs[0]
		for _, name := range n.Inputs[1:] {
			m.gone[name] = uses[name] == 1
		}
	}
	return nil
}

// foldPairs joins weights with their scales.
func (m *renamed) foldPairs(other *renamed) error {
	var infos []tensor.Info
	var views []tensor.View
	for name, v := range m.Tensors() {
		info := v.Info()
		info.Name = name
		infos, views = append(infos, info), append(views, v)
	}
	for _, p := range quant.Pairs(infos) {
		weight, scale := infos[p.Weight].Name, infos[p.Scale].Name
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
func (m *renamed) has(name string) bool {
	_, err := m.Tensor(name)
	return err == nil
}

// foldedGraph returns a copy of the graph without the nodes that were followed.
func (m *renamed) foldedGraph() (*format.Graph, error) {
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
	contract.Values(g, contract.Renaming(m.real))
	return g, nil
}
