package onnxgraph

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/messages"
)

// Subgraphs has the encoded initializers of the graphs in attributes. A schema has only their names,
// so a graph that has changed takes them from here. The key of a graph is made of the outputs of the
// node, which no other node has, and the name of the attribute.
type Subgraphs map[string]*initializers

type initializers struct {
	names  []string
	fields []byte
	twice  bool // several graphs have the key
}

// Subgraphs returns the initializers of the graphs in an encoded graph.
func (d *Dialect) Subgraphs(graph messages.Message) Subgraphs {
	s := Subgraphs{}
	d.addNodes(s, "", graph)
	return s
}

// scopeOf returns the key of an attribute in a graph with a key.
func scopeOf(graph string, outputs []string, name string) string {
	return fmt.Sprintf("%s/%q.%q", graph, outputs, name)
}

// addNodes adds the graphs in the nodes of a graph with a key.
func (d *Dialect) addNodes(s Subgraphs, key string, graph messages.Message) {
	for f := graph.Cursor(); f.Next(); {
		if f.Number == d.GraphFields.Nodes {
			d.addNode(s, key, f.Message())
		}
	}
}

func (d *Dialect) addNode(s Subgraphs, key string, node messages.Message) {
	var outputs []string
	for f := node.Cursor(); f.Next(); {
		if f.Number == d.NodeFields.Outputs {
			outputs = append(outputs, f.Text())
		}
	}
	for f := node.Cursor(); f.Next(); {
		if f.Number == nodeAttributes {
			d.addAttribute(s, key, outputs, f.Message())
		}
	}
}

func (d *Dialect) addAttribute(s Subgraphs, key string, outputs []string, m messages.Message) {
	number := valueField(m)
	if number != attributeGraph && number != attributeGraphs {
		return
	}
	name := ""
	var graphs []messages.Message
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case attributeName:
			name = f.Text()
		case number:
			graphs = append(graphs, f.Message())
		}
	}
	key = scopeOf(key, outputs, name)
	if number == attributeGraph {
		d.addGraph(s, key, graphs...) // which are merged
		return
	}
	for i, g := range graphs {
		d.addGraph(s, fmt.Sprintf("%s[%d]", key, i), g)
	}
}

// addGraph adds a graph and those in it. A message that repeats is merged.
func (d *Dialect) addGraph(s Subgraphs, key string, pieces ...messages.Message) {
	in := &initializers{twice: s[key] != nil}
	s[key] = in
	for _, m := range pieces {
		for f := m.Cursor(); f.Next(); {
			if f.Number == d.GraphFields.Initializers {
				in.names = append(in.names, d.NameOf(f.Message()))
				in.fields = append(in.fields, f.Raw()...)
			}
		}
		d.addNodes(s, key, m)
	}
}
