package wia

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/protobuf"
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
// first. Parts without any are left out. It reads the descriptions each time, and counts them
// against Options.MaxMemory (ErrLimit); after Close it returns ErrClosed.
func (f *File) Docs() ([]Doc, error) {
	var d docs
	err := f.Guard(func() error {
		n, err := f.f.native()
		if err != nil {
			return err
		}
		s := protobuf.InMemory(n.Raw)
		for w := s.Walk(nativeMsg, s.All(), 0); w.Next(); {
			switch w.Num {
			case 1:
				w.Err = d.message(s, graphMsg, w.Field, "graph", 1)
			case 2:
				w.Err = d.tensor(s, w.Field)
			}
			if w.Err != nil {
				return w.Err
			}
		}
		return nil
	})
	return d.list, err
}

// docs collects documentation.
type docs struct{ list []Doc }

// tensor collects that of a CompressedTensor.
func (d *docs) tensor(s *protobuf.Source, f protobuf.Field) error {
	for w := s.Walk(compressedMsg, f, 1); w.Next(); {
		if w.Num != 1 {
			continue
		}
		name := ""
		w.Err = s.Read(tensorMsg, w.Field, 2, &protobuf.Into{1: &name})
		if w.Err == nil {
			w.Err = d.message(s, tensorMsg, w.Field, fmt.Sprintf("tensor %q", name), 2)
		}
		if w.Err != nil {
			return w.Err
		}
	}
	return nil
}

// message collects the documentation in a message, then that of the messages in it.
func (d *docs) message(s *protobuf.Source, m *protobuf.Message, f protobuf.Field, path string, level int) error {
	at := len(d.list)
	d.list = append(d.list, Doc{Path: path})
	count := map[string]int{}
	for w := s.Walk(m, f, level); w.Next(); {
		if w.Def == nil {
			continue
		}
		switch {
		case w.Def.Name == "name":
			d.list[at].Name, w.Err = text(s, w.Field)
		case w.Def.Name == "doc_string":
			d.list[at].Text, w.Err = text(s, w.Field)
		case w.Def.Name == "properties":
			var pair [2]string
			w.Err = s.Read(w.Def.Message, w.Field, level+1, &protobuf.Into{1: &pair[0], 2: &pair[1]})
			d.list[at].Properties = append(d.list[at].Properties, pair)
		case w.Def.Name == "metadata":
			w.Err = d.metadata(s, w.Def.Message, w.Field, at, level+1)
		case w.Def.Message != nil:
			inner := path + "." + w.Def.Name
			if w.Def.Repeated {
				inner = fmt.Sprintf("%s[%d]", inner, count[w.Def.Name])
				count[w.Def.Name]++
			}
			w.Err = d.message(s, w.Def.Message, w.Field, inner, level+1)
		}
		if w.Err != nil {
			return w.Err
		}
	}
	if own := &d.list[at]; own.Text == "" && len(own.Properties) == 0 {
		d.list = append(d.list[:at], d.list[at+1:]...)
	}
	return nil
}

// metadata collects the doc_string and properties of a TensorMetadata or GraphMetadata.
func (d *docs) metadata(s *protobuf.Source, m *protobuf.Message, f protobuf.Field, at, level int) error {
	for w := s.Walk(m, f, level); w.Next(); {
		if w.Def == nil {
			continue
		}
		switch w.Def.Name {
		case "doc_string":
			d.list[at].Text, w.Err = text(s, w.Field)
		case "properties":
			var pair [2]string
			w.Err = s.Read(w.Def.Message, w.Field, level+1, &protobuf.Into{1: &pair[0], 2: &pair[1]})
			d.list[at].Properties = append(d.list[at].Properties, pair)
		}
		if w.Err != nil {
			return w.Err
		}
	}
	return nil
}

// text returns the value of a string field.
func text(s *protobuf.Source, f protobuf.Field) (string, error) {
	b, err := s.Bytes(f.Start, f.End)
	return string(b), err
}
