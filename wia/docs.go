package wia

import (
	"cmp"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
)

// docs implements driver.Parsed: the doc strings and properties of the graph with its parts, and of
// the tensors (sections 3.2 and 4.1 of the specification).
func (f *parsed) docs() ([]schema.Doc, error) {
	if !f.hasDocs {
		return nil, nil
	}
	r := &onnxgraph.DocReader{Dialect: &dialect}
	stored := f.hdr.blocks[graphBlock].size + f.hdr.blocks[tensorBlock].size
	r.Room.Most = f.memory.Room(stored)
	graph := messages.Outermost(f.graph().text())
	err := r.ReadGraph(graph)
	if err != nil {
		return nil, f.graph().place(graphBlock, typeGraph, err)
	}
	isFirst := len(f.records) > 0 && f.records[0].block == graphBlock
	if isFirst {
		err = f.readInitializers(r, graph)
		if err != nil {
			return nil, err
		}
	}
	for c := messages.Outermost(f.more.Text()).Cursor(); c.Next(); {
		err := readTensor(r, tensorOf(&c)...)
		if err != nil {
			placed := &messages.Placed{Field: tensorBlock.String(), Err: err}
			return nil, f.payloads[tensorBlock].locate(placed)
		}
	}
	if !isFirst {
		err = f.readInitializers(r, graph)
	}
	return r.Docs, err
}

// readInitializers collects the docs of the initializers that have data: they are tensors too.
func (f *parsed) readInitializers(r *onnxgraph.DocReader, graph messages.Message) error {
	if !f.initializerData {
		return nil
	}
	h := &head{}
	for c := graph.Cursor(); c.Next(); {
		if c.Number != graphInitializers {
			continue
		}
		h.reset()
		err := h.read(c.Message())
		if err != nil || h.data == 0 {
			continue
		}
		err = readTensor(r, c.Message())
		if err != nil {
			return f.graph().place(graphBlock, typeGraph, err)
		}
	}
	return nil
}

// tensorOf returns the Tensor messages of the record in the current field of the tensor block: they
// are merged.
func tensorOf(c *messages.Cursor) (pieces []messages.Message) {
	if c.Number == tensorRecords {
		return []messages.Message{c.Message()}
	}
	if c.Number != compressedRecords {
		return nil
	}
	for f := c.Message().Cursor(); f.Next(); {
		if f.Number == innerTensor {
			pieces = append(pieces, f.Message())
		}
	}
	return pieces
}

// readTensor collects the doc of a tensor.
func readTensor(r *onnxgraph.DocReader, pieces ...messages.Message) error {
	if len(pieces) == 0 {
		return nil
	}
	name := ""
	for _, m := range pieces {
		name = cmp.Or(dialect.NameOf(m), name)
	}
	return r.ReadTensor(name, pieces...)
}

// holdsDoc reports what the format has a place for of a doc. Keys are names, without NUL.
func holdsDoc(d *schema.Doc) (text, properties bool) {
	text, properties = dialect.Holds(d)
	for _, p := range d.Properties {
		properties = properties && strings.IndexByte(p[0], 0) < 0
	}
	return text, properties
}
