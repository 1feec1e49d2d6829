package wia

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/messages"
)

// Doc is what a file says about one of its parts in words: a doc_string, properties, or both.
type Doc struct {
	// Path is the part, such as `tensor "w"`, "graph", "graph.nodes[3]" or "graph.inputs[0]".
	Path string
	// Name is the name of the graph, node, value, attribute or tensor, if it has one.
	Name string
	// Text is the doc_string.
	Text string
	// Properties are pairs of keys and values, in the order of the file.
	Properties [][2]string
}

// Docs returns the doc strings and properties of the graph with its nodes, attributes and values,
// and of the tensors (sections 3.2 and 4.1 of the specification), in the order of the file, graph
// first. Parts without any are left out. Each call collects them again, and counts them against
// Options.MaxMemory (ErrLimit); after Close it returns ErrClosed.
func (f *File) Docs() ([]Doc, error) {
	var d docs
	err := f.Guard(func() error {
		n, err := f.f.native()
		if err != nil {
			return err
		}
		for c := messages.Outermost(string(n.Raw)).Cursor(); c.Next(); {
			switch c.Number {
			case nativeGraph:
				d.message(typeGraph, c.Message(), "graph")
			case nativeTensors:
				d.tensor(c.Message())
			}
		}
		return nil
	})
	return d.list, err
}

// docs collects documentation.
type docs struct{ list []Doc }

// tensor collects that of a CompressedTensor.
func (d *docs) tensor(m messages.Message) {
	for c := m.Cursor(); c.Next(); {
		if c.Number == innerTensor {
			name := dialect.NameOf(c.Message())
			d.message(typeTensor, c.Message(), fmt.Sprintf("tensor %q", name))
		}
	}
}

// message collects the documentation in a message, then that of the messages in it.
func (d *docs) message(t messages.Type, m messages.Message, path string) {
	at := len(d.list)
	d.list = append(d.list, Doc{Path: path})
	count := map[string]int{}
	for c := m.Cursor(); c.Next(); {
		f := table.Field(t, &c)
		if f == nil {
			continue
		}
		switch {
		case f.Name == "name":
			d.list[at].Name = c.Text()
		case d.text(at, f, &c):
		case f.Name == "metadata":
			d.metadata(at, f.Of, c.Message())
		case f.Kind == messages.Nested:
			inner := path + "." + f.Name
			if f.Many {
				inner = fmt.Sprintf("%s[%d]", inner, count[f.Name])
				count[f.Name]++
			}
			d.message(f.Of, c.Message(), inner)
		}
	}
	own := &d.list[at]
	if own.Text == "" && len(own.Properties) == 0 {
		d.list = append(d.list[:at], d.list[at+1:]...)
	}
}

// metadata collects the doc_string and properties of a TensorMetadata or GraphMetadata.
func (d *docs) metadata(at int, t messages.Type, m messages.Message) {
	for c := m.Cursor(); c.Next(); {
		f := table.Field(t, &c)
		if f != nil {
			d.text(at, f, &c)
		}
	}
}

// text takes a doc_string or a property, and reports whether the field is one.
func (d *docs) text(at int, f *messages.Field, c *messages.Cursor) bool {
	doc := &d.list[at]
	switch f.Name {
	case "doc_string":
		doc.Text = c.Text()
	case "properties":
		doc.Properties = append(doc.Properties, pair(c.Message()))
	default:
		return false
	}
	return true
}

// pair returns the key and value of a KeyValue.
func pair(m messages.Message) (p [2]string) {
	for c := m.Cursor(); c.Next(); {
		switch c.Number {
		case pairKey:
			p[0] = c.Text()
		case pairValue:
			p[1] = c.Text()
		}
	}
	return p
}
