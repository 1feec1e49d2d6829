package onnx

import (
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/wire"
)

// Native implements driver.Parsed: the model without the data of its tensors, as one message. An
// empty field marks where the data of an initializer was; sparse initializers have only a name.
func (f *parsed) Native() (*schema.Native, error) {
	n := 2 * int64(len(f.model.Text())+len(f.graph.Text()))
	err := f.memory.Reserve(n)
	if err != nil {
		return nil, wire.Error(formatName, "model", -1, err)
	}
	defer f.memory.Release(n)
	raw, err := f.raw()
	if err != nil {
		return nil, err
	}
	kinds := dialect.Kinds(typeModel, messages.Outermost(string(raw)), 0)
	return &schema.Native{Format: formatName, Raw: raw, Kinds: kinds}, nil
}

// raw returns the model without the data of its tensors. External data of tensors that are not
// listed becomes part of it.
func (f *parsed) raw() ([]byte, error) {
	in := inliner{f: f, data: onnxgraph.Inliner{Memory: f.memory}}
	defer in.data.Close()
	e := dialect.Edit()
	if f.external {
		e.Replace = in.replace
	}
	graph := make([]byte, 0, len(f.graph.Text()))
	for c := messages.Outermost(f.graph.Text()).Cursor(); c.Next(); {
		switch c.Number {
		case initializer:
			graph = appendShell(graph, c.Message())
		case sparseInitializer:
			graph = appendSparseShell(graph, c.Message())
		default:
			graph = e.AppendField(graph, typeGraph, &c)
		}
	}
	raw := make([]byte, 0, len(graph)+len(f.model.Text())+8)
	for c := messages.Outermost(f.model.Text()).Cursor(); c.Next(); {
		if c.Number == modelGraph {
			raw = messages.AppendBytes(raw, modelGraph, graph)
			continue
		}
		raw = e.AppendField(raw, typeModel, &c)
	}
	return raw, e.Err
}

// appendShell appends an initializer, with an empty field instead of external data.
func appendShell(b []byte, m messages.Message) []byte {
	isExternal := false
	for c := m.Cursor(); c.Next(); {
		isExternal = isExternal || c.Number == dataLocation && c.Enum() == 1
	}
	b, start := messages.Begin(b, initializer)
	isMarked := false
	for c := m.Cursor(); c.Next(); {
		isPlace := isData(c.Number) || c.Number == externalData && isExternal
		switch {
		case isPlace && !isMarked:
			isMarked = true
			b = messages.AppendBytes(b, rawData, "")
		case isPlace || c.Number == externalData || c.Number == dataLocation:
		default:
			b = append(b, c.Raw()...)
		}
	}
	return messages.End(b, start)
}

// appendSparseShell appends a sparse initializer with only its name.
func appendSparseShell(b []byte, m messages.Message) []byte {
	b, sparse := messages.Begin(b, sparseInitializer)
	b, values := messages.Begin(b, sparseValues)
	b = messages.AppendText(b, tensorName, sparseName(m))
	return messages.End(messages.End(b, values), sparse)
}

// sparseName returns the name of a sparse tensor, which is that of its values.
func sparseName(m messages.Message) (name string) {
	for c := m.Cursor(); c.Next(); {
		if c.Number == sparseValues {
			name = shellOf(c.Message()).name
		}
	}
	return name
}

// inliner puts external data of tensors into their messages.
type inliner struct {
	f    *parsed
	data onnxgraph.Inliner
}

// replace appends the fields of a tensor with its external data.
func (in *inliner) replace(b []byte, m messages.Message) ([]byte, bool, error) {
	h := &head{}
	if h.read(m) != nil || h.check() != nil || h.location != 1 {
		return b, false, nil
	}
	v := in.f.view(h)
	b, err := in.data.Append(b, m, v, rawData, rawData, externalData, dataLocation)
	if err != nil {
		return b, false, err
	}
	return b, true, nil
}
