package format

import (
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/textmeta"
)

// Schema returns the schema that writes an open model again: its metadata, tensors with their
// quantization, graph, docs, and Native. Metadata that a format of strings took from values of other
// types has these types again. A format that cannot hold all of the schema refuses it with a
// schema.LossError. So does every format for that of a part of a model (Model.Part), as a
// schema.LossPart, unless WriteOptions.AcceptLoss has "part". The caller may change the schema; if
// it renames tensors, it sets Native.Renamed. Parts of Native that contradict the changed schema
// are losses.
func (m *Model) Schema() (*schema.Schema, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	p := &schema.Schema{Metadata: textmeta.Decode(meta)}
	for _, v := range m.Tensors() {
		info := v.Info()
		info.Shape = info.Shape.Clone()
		info.Quant = info.Quant.Clone()
		p.Tensors = append(p.Tensors, info)
	}
	if p.Native, err = m.Native(); err != nil {
		return nil, err
	}
	g, err := m.Graph()
	if err != nil {
		return nil, err
	}
	p.Graph = g.Clone()
	p.Docs, err = m.docs()
	if err != nil {
		return nil, err
	}
	p.Part, p.Parts = m.Part()
	return p, nil
}

// docs returns what the model says about its parts in words.
func (m *Model) docs() ([]schema.Doc, error) {
	m = m.opened()
	if m.parsed.Docs == nil {
		return nil, nil
	}
	return inside(m, m.parsed.Docs)
}
