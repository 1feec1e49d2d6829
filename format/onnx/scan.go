package onnx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// emptyGraph is a field with an empty graph.
var emptyGraph = []byte{modelGraph<<3 | messages.Bytes, 0}

// readModel reads the model, and the graph in it. Only a field that the file ends in is truncated.
func (p *parser) readModel(section *messages.Section) error {
	m := section.Scan(table, typeModel, "")
	for m.Next() {
		if m.Number != modelGraph {
			m.Keep(&p.f.model)
			continue
		}
		if p.hasGraph {
			m.Fail(messages.Errorf(m.At, "", tensor.ErrCorrupt, "it occurs twice"))
			return m.Err()
		}
		p.hasGraph = true
		m.Replace(&p.f.model, emptyGraph, m.At)
		err := p.readGraph(&m)
		if err != nil {
			return err
		}
	}
	var bad *messages.Placed
	if errors.As(m.Err(), &bad) && bad.Short && (bad.Field != "" || m.At > 0) {
		text := strings.TrimPrefix(bad.Err.Error(), tensor.ErrCorrupt.Error()+": ")
		bad.Err = fmt.Errorf("%w: %s", tensor.ErrTruncated, text)
	}
	return m.Err()
}

// readGraph reads the graph in the current field of the model.
func (p *parser) readGraph(m *messages.Scan) error {
	g := m.Inner(typeGraph)
	for g.Next() {
		if g.Number != initializer && g.Number != sparseInitializer {
			g.Keep(&p.f.graph)
			continue
		}
		err := p.counts.Add(messages.Tensors, 1, g.At)
		if err != nil {
			g.Fail(err)
			break
		}
		if g.Number == initializer {
			p.readInitializer(&g)
		} else {
			p.readSparse(&g)
		}
	}
	return g.Err()
}

// readInitializer reads the tensor in the current field of the graph, and lists it.
func (p *parser) readInitializer(g *messages.Scan) {
	p.head.reset()
	p.shell.Reset()
	marked := 0       // a bit for each field of data
	last := 0         // the field before
	code := uint64(0) // of the last type
	t := g.Inner(typeTensor)
	for t.Next() {
		isAgain := t.Number == dataType && last == dataType
		isPadding := isAgain && t.Wire == messages.Varint && t.Bits == code
		last = t.Number
		switch {
		case isPadding:
		case isData(t.Number):
			if marked&(1<<t.Number) == 0 {
				p.mark(&t)
			}
			marked |= 1 << t.Number
			p.readData(&t)
		case t.Number == dataType:
			code = t.Bits
			t.Keep(&p.shell)
		default:
			t.Keep(&p.shell)
		}
	}
	m, bad := table.Check(typeTensor, p.shell.Text(), p.counts)
	err := messages.Lowest(g.Place(&p.shell, table, typeTensor, bad), t.Err())
	if err != nil {
		g.Stop(err)
		return
	}
	g.ReplaceWith(&p.f.graph, &p.shell)
	g.Stop(g.Place(&p.shell, table, typeTensor, p.addInitializer(g, m)))
}

// mark keeps an empty field in the place of data.
func (p *parser) mark(t *messages.Scan) {
	if t.Number == rawData {
		p.head.raw.at = int64(len(p.shell.Text()))
	}
	var empty [2]byte
	t.Replace(&p.shell, messages.AppendLength(empty[:0], t.Number, 0), t.At)
}

// readData counts the data in the current field of a tensor.
func (p *parser) readData(t *messages.Scan) {
	h := p.head
	if !t.Admits() {
		return
	}
	if t.Number == rawData {
		h.raw.found = true
		h.raw.offset = t.Value
		h.raw.size = t.End - t.Value
		return
	}
	if t.Number == stringData {
		err := p.counts.Add(messages.Strings, 1, t.At)
		if err != nil {
			t.Fail(err)
			return
		}
	}
	h.addList(t.Number, t.Values(), t.End-t.At)
}

// addInitializer decodes and lists the tensor that was read.
func (p *parser) addInitializer(g *messages.Scan, m messages.Message) error {
	err := p.head.readFields(m)
	if err != nil {
		return err
	}
	err = p.checkTensor(p.head)
	if err != nil {
		return err
	}
	return p.add(p.head, g.Value, g.End)
}

// readSparse reads the sparse tensor in the current field of the graph, and lists it.
func (p *parser) readSparse(g *messages.Scan) {
	p.shell.Reset()
	s := g.Inner(typeSparse)
	for s.Next() {
		s.Keep(&p.shell)
	}
	m, bad := table.Check(typeSparse, p.shell.Text(), p.counts)
	err := messages.Lowest(g.Place(&p.shell, table, typeSparse, bad), s.Err())
	if err != nil {
		g.Stop(err)
		return
	}
	g.ReplaceWith(&p.f.graph, &p.shell)
	g.Stop(g.Place(&p.shell, table, typeSparse, p.addSparse(m, g.Value, g.End)))
}
