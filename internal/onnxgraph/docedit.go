package onnxgraph

import (
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
)

// Docs has the docs of a schema by path.
type Docs map[string]*schema.Doc

// DocsOf returns the docs of a list by path.
func DocsOf(list []schema.Doc) Docs {
	docs := make(Docs, len(list))
	for i := range list {
		docs[list[i].Path] = &list[i]
	}
	return docs
}

// docChange is how the doc of a message changes. The first message at its path gets the doc, and
// leaves nothing for those that are merged with it.
type docChange struct {
	doc              schema.Doc
	text, properties bool                 // the old one has others
	pairs            map[[2]string]string // encoded properties of the message
}

// changeOf returns the change from a doc to another, nil for none. Each may be nil.
func changeOf(from, to *schema.Doc) *docChange {
	c := &docChange{}
	if to != nil {
		c.doc = *to
	}
	if from == nil {
		from = &schema.Doc{}
	}
	c.text = from.Text != c.doc.Text
	c.properties = !slices.Equal(from.Properties, c.doc.Properties)
	if !c.text && !c.properties {
		return nil
	}
	return c
}

// SetTensorDoc returns the encoded fields of a tensor with the doc at a path.
func (d *Dialect) SetTensorDoc(fields, path string, docs Docs) string {
	m := messages.Outermost(fields)
	old, _ := d.reader().docIn(d.Tensor, []messages.Message{m})
	c := changeOf(&old, docs[path])
	if c == nil {
		return fields
	}
	return d.setDoc(d.Tensor, m, c).Text()
}

// reader returns a DocReader for a message that is not in a file.
func (d *Dialect) reader() *DocReader {
	return &DocReader{Dialect: d, Room: messages.Room{Most: math.MaxInt64}}
}

// SetGraphDocs returns the fields of the outermost graph with other docs, but for those of its
// initializers, and whether one changed. Messages whose docs stay the same are not changed.
func (d *Dialect) SetGraphDocs(graph []byte, docs Docs) (_ []byte, changed bool) {
	r := d.reader()
	m := messages.Outermost(string(graph))
	_ = r.ReadGraph(m)
	old := DocsOf(r.Docs)
	e := docEditor{Dialect: d, changes: map[string]*docChange{}}
	for path, doc := range old {
		e.add(path, changeOf(doc, docs[path]))
	}
	for path, doc := range docs {
		if old[path] == nil {
			e.add(path, changeOf(nil, doc))
		}
	}
	if len(e.changes) == 0 {
		return graph, false
	}
	top := d.newLists(d.Graph, m)
	return e.appendMessage(nil, &top, "graph", m), true
}

// docEditor copies the messages of a graph with other docs.
type docEditor struct {
	*Dialect
	changes map[string]*docChange
}

// add adds a change of the graph, which may be nil.
func (e *docEditor) add(path string, c *docChange) {
	isOutside := strings.HasPrefix(path, "tensor ") ||
		strings.HasPrefix(path, "graph.initializers[")
	if c != nil && !isOutside {
		e.changes[path] = c
	}
}

// appendMessage appends the fields of a message, whose parts have lists.
func (e *docEditor) appendMessage(b []byte, l *lists, path string, m messages.Message) []byte {
	before := len(b)
	for f := m.Cursor(); f.Next(); {
		p := l.next(&f)
		if p.list == "" {
			b = append(b, f.Raw()...)
			continue
		}
		b = e.appendPart(b, l, string(p.appendTo([]byte(path))), &f)
	}
	c := e.changes[path]
	if c == nil {
		return b
	}
	own := messages.Outermost(string(b[before:]))
	return append(b[:before], e.setDoc(l.of, own, c).Text()...)
}

// appendPart appends the part in the current field.
func (e *docEditor) appendPart(b []byte, l *lists, path string, f *messages.Cursor) []byte {
	m := f.Message()
	lists := e.newLists(e.Schema[l.of].Fields[f.Number].Of, m)
	inner := &lists
	if l.of == e.attribute() && f.Number == attributeGraph {
		if l.graph == nil {
			l.graph = inner
		}
		inner = l.graph
	}
	before := len(b)
	b, start := messages.Begin(b, f.Number)
	b = e.appendMessage(b, inner, path, m)
	if string(b[start:]) == f.Text() { // the length may be encoded otherwise
		return append(b[:before], f.Raw()...)
	}
	return messages.End(b, start)
}

// setDoc returns a message of type t with another doc.
func (d *Dialect) setDoc(t messages.Type, m messages.Message, c *docChange) messages.Message {
	for number := range d.Schema[t].Fields {
		def := &d.Schema[t].Fields[number]
		isText := def.Kind == messages.String
		if def.Use&messages.Doc == 0 || isText && !c.text || def.Many && !c.properties {
			continue
		}
		if def.Many {
			c.keepPairs(m, number)
		}
		m = messages.Outermost(string(d.replaceDoc(m, number, def, c)))
	}
	return m
}

// keepPairs remembers the encoded properties in a message, which may have unknown fields.
func (c *docChange) keepPairs(m messages.Message, number int) {
	c.pairs = map[[2]string]string{}
	for f := m.Cursor(); f.Next(); {
		if f.Number == number {
			c.pairs[pairOf(f.Message())] = f.Raw()
		}
	}
}

// replaceDoc returns a message with another doc in the fields with a number. It is where the first
// of them was, or else in the order of numbers.
func (d *Dialect) replaceDoc(
	m messages.Message, number int, def *messages.Field, c *docChange,
) []byte {
	isNew := true
	for f := m.Cursor(); f.Next(); {
		isNew = isNew && f.Number != number
	}
	var b []byte
	for f := m.Cursor(); f.Next(); {
		if isNew && f.Number > number {
			b = d.appendDoc(b, number, def, messages.Message{}, c)
			isNew = false
		}
		if f.Number == number {
			b = d.appendDoc(b, number, def, f.Message(), c)
			continue
		}
		b = append(b, f.Raw()...)
	}
	if isNew {
		b = d.appendDoc(b, number, def, messages.Message{}, c)
	}
	return b
}

// appendDoc appends what is left of a doc and belongs in a field. old is the message in the field,
// if it is one.
func (d *Dialect) appendDoc(
	b []byte, number int, def *messages.Field, old messages.Message, c *docChange,
) []byte {
	switch {
	case def.Kind == messages.String:
		b = messages.AppendText(b, number, c.doc.Text)
		c.doc.Text = ""
	case def.Many:
		for _, p := range c.doc.Properties {
			b = c.appendPair(b, number, p)
		}
		c.doc.Properties = nil
	default:
		inner := d.setDoc(def.Of, old, c)
		if inner.Text() != "" {
			b = messages.AppendBytes(b, number, inner.Text())
		}
	}
	return b
}

// appendPair appends a property.
func (c *docChange) appendPair(b []byte, number int, p [2]string) []byte {
	raw := c.pairs[p]
	if raw != "" {
		return append(b, raw...)
	}
	b, start := messages.Begin(b, number)
	b = messages.AppendText(b, pairKey, p[0])
	b = messages.AppendText(b, pairValue, p[1])
	return messages.End(b, start)
}
