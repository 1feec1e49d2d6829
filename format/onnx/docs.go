package onnx

import (
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
)

// docs implements driver.Parsed: doc_string and metadata_props of the graph with its parts, and of
// the tensors. Those of the model are metadata.
func (f *parsed) docs() ([]schema.Doc, error) {
	if !f.hasDocs {
		return nil, nil
	}
	r := &onnxgraph.DocReader{Dialect: &dialect}
	r.Room.Most = f.memory.Room(f.src.Size())
	graph := messages.Outermost(f.graph.Text())
	err := r.ReadGraph(graph)
	if err != nil {
		return nil, f.placeGraph(err)
	}
	for c := graph.Cursor(); c.Next(); {
		if c.Number != initializer {
			continue
		}
		m := c.Message()
		err := r.ReadTensor(dialect.NameOf(m), m)
		if err != nil {
			return nil, f.placeGraph(err)
		}
	}
	return r.Docs, nil
}

// hasDoc reports whether a graph, apart from its parts, has a doc_string or properties.
func hasDoc(graph messages.Message) bool {
	for c := graph.Cursor(); c.Next(); {
		def := table.Field(typeGraph, &c)
		if def != nil && def.Use&messages.Doc != 0 && (def.Many || c.Text() != "") {
			return true
		}
	}
	return false
}

// docLosses says which docs have a place. Sparse tensors are copied as they are, and initializers
// are the tensors themselves.
func docLosses(p *schema.Schema, l *schema.LossList) {
	sparse := map[string]bool{}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		sparse[onnxgraph.TensorPath(t.Name)] = storageOf(t).sparse
	}
	l.Docs(func(d *schema.Doc) (text, properties bool) {
		if sparse[d.Path] || strings.HasPrefix(d.Path, "graph.initializers[") {
			return false, false
		}
		return dialect.Holds(d)
	})
}
