package onnx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// structure is the messages of a file without the data of initializers. An empty field marks where
// that was.
type structure struct {
	model messages.Copy // the ModelProto; an empty graph marks the place of the graph
	graph messages.Copy // the GraphProto
}

// reader reads the messages of a file, and lists the initializers of the graph.
type reader struct {
	*parsed
	section *messages.Section
	shell   messages.Copy // the current tensor without its data
	counts  *messages.Counts
}

// emptyGraph is a field with an empty graph.
var emptyGraph = []byte{modelGraph<<3 | messages.Bytes, 0}

// readModel reads the model, and the graph in it. Only a field that the file ends in is truncated.
func (r *reader) readModel() error {
	m := r.section.Scan(table, typeModel, "")
	for m.Next() {
		if m.Number != modelGraph {
			m.Keep(&r.model)
			continue
		}
		if r.found {
			m.Fail(messages.Errorf(m.At, "", tensor.ErrCorrupt, "it occurs twice"))
			return m.Err()
		}
		r.found = true
		m.Replace(&r.model, emptyGraph, m.At)
		err := r.readGraph(&m)
		if err != nil {
			return err
		}
	}
	var p *messages.Placed
	if errors.As(m.Err(), &p) && p.Short && (p.Field != "" || m.At > 0) {
		text := strings.TrimPrefix(p.Err.Error(), tensor.ErrCorrupt.Error()+": ")
		p.Err = fmt.Errorf("%w: %s", tensor.ErrTruncated, text)
	}
	return m.Err()
}

// readGraph reads the graph in the current field of the model.
func (r *reader) readGraph(m *messages.Scan) error {
	g := m.Inner(typeGraph)
	for g.Next() {
		if g.Number != initializer && g.Number != sparseInitializer {
			g.Keep(&r.graph)
			continue
		}
		err := r.counts.Add(messages.Tensors, 1, g.At)
		if err != nil {
			g.Fail(err)
			break
		}
		if g.Number == initializer {
			r.readInitializer(&g)
		} else {
			r.readSparse(&g)
		}
	}
	return g.Err()
}

// readInitializer reads the tensor in the current field of the graph, and lists it.
func (r *reader) readInitializer(g *messages.Scan) {
	r.head.reset()
	r.shell.Reset()
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
				r.mark(&t)
			}
			marked |= 1 << t.Number
			r.readData(&t)
		case t.Number == dataType:
			code = t.Bits
			t.Keep(&r.shell)
		default:
			t.Keep(&r.shell)
		}
	}
	m, bad := table.Check(typeTensor, r.shell.Text(), r.counts)
	err := messages.Lowest(g.Place(&r.shell, table, typeTensor, bad), t.Err())
	if err != nil {
		g.Stop(err)
		return
	}
	g.ReplaceWith(&r.graph, &r.shell)
	g.Stop(g.Place(&r.shell, table, typeTensor, r.addInitializer(g, m)))
}

// mark keeps an empty field in the place of data.
func (r *reader) mark(t *messages.Scan) {
	if t.Number == rawData {
		r.head.raw.at = int64(len(r.shell.Text()))
	}
	var empty [2]byte
	t.Replace(&r.shell, messages.AppendLength(empty[:0], t.Number, 0), t.At)
}

// readData counts the data in the current field of a tensor.
func (r *reader) readData(t *messages.Scan) {
	h := r.head
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
		err := r.counts.Add(messages.Strings, 1, t.At)
		if err != nil {
			t.Fail(err)
			return
		}
	}
	h.addList(t.Number, t.Values(), t.End-t.At)
}

// addInitializer decodes and lists the tensor that was read.
func (r *reader) addInitializer(g *messages.Scan, m messages.Message) error {
	err := r.head.readFields(m)
	if err != nil {
		return err
	}
	err = r.checkTensor(r.head)
	if err != nil {
		return err
	}
	return r.add(r.head, g.Value, g.End)
}

// readSparse reads the sparse tensor in the current field of the graph, and lists it.
func (r *reader) readSparse(g *messages.Scan) {
	r.shell.Reset()
	s := g.Inner(typeSparse)
	for s.Next() {
		s.Keep(&r.shell)
	}
	m, bad := table.Check(typeSparse, r.shell.Text(), r.counts)
	err := messages.Lowest(g.Place(&r.shell, table, typeSparse, bad), s.Err())
	if err != nil {
		g.Stop(err)
		return
	}
	g.ReplaceWith(&r.graph, &r.shell)
	g.Stop(g.Place(&r.shell, table, typeSparse, r.addSparse(m, g.Value, g.End)))
}
