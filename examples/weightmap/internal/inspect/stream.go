package inspect

import (
	"bufio"
	"encoding/json"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format/schema"
)

// jsonStream writes JSON value by value. Unlike json.Encoder it does not hold the whole text, which
// takes many times the memory of a graph.
type jsonStream struct {
	out   *bufio.Writer
	lines bool // over several lines
	depth int
	empty bool // nothing is in the innermost object or array yet
	err   error
}

// begin opens an object or an array, and end closes it.
func (s *jsonStream) begin(bracket string) {
	s.out.WriteString(bracket)
	s.depth++
	s.empty = true
}

func (s *jsonStream) end(bracket string) {
	s.depth--
	if !s.empty {
		s.line()
	}
	s.out.WriteString(bracket)
	s.empty = false
}

func (s *jsonStream) line() {
	if s.lines {
		s.out.WriteString("\n" + strings.Repeat(" ", s.depth))
	}
}

// next starts the next member or element.
func (s *jsonStream) next() {
	if !s.empty {
		s.out.WriteByte(',')
	}
	s.empty = false
	s.line()
}

func (s *jsonStream) key(name string) {
	s.next()
	s.out.WriteString(`"` + name + `":`)
	if s.lines {
		s.out.WriteByte(' ')
	}
}

func (s *jsonStream) value(v any) {
	if s.err != nil {
		return
	}
	e := json.NewEncoder((*indenter)(s))
	e.SetEscapeHTML(false)
	s.err = e.Encode(v)
}

func (s *jsonStream) field(name string, v any) {
	s.key(name)
	s.value(v)
}

// elements writes an array one element at a time.
func elements[T any](s *jsonStream, name string, all []T) {
	s.key(name)
	s.begin("[")
	for i := range all {
		s.next()
		s.value(&all[i])
	}
	s.end("]")
}

func (s *jsonStream) graph(g *schema.Graph) {
	if g == nil {
		s.field("graph", nil)
		return
	}
	s.key("graph")
	s.begin("{")
	s.key("name")
	s.value(g.Name)
	elements(s, "inputs", g.Inputs)
	elements(s, "outputs", g.Outputs)
	s.key("nodes")
	s.begin("[")
	for i := range g.Nodes {
		s.next()
		s.node(&g.Nodes[i])
	}
	s.end("]")
	s.end("}")
}

// node writes a node, piece by piece if its text is long: a name that is used often takes memory
// once, but each use is text in JSON.
func (s *jsonStream) node(n *schema.Node) {
	size := 0
	for _, list := range [][]string{n.Inputs, n.Outputs} {
		for _, name := range list {
			size += len(name)
		}
	}
	if size < 64<<10 {
		s.value(n)
		return
	}
	s.begin("{")
	s.key("name")
	s.value(n.Name)
	s.key("op")
	s.value(n.Op)
	if n.Domain != "" {
		s.key("domain")
		s.value(n.Domain)
	}
	s.names("inputs", n.Inputs)
	s.names("outputs", n.Outputs)
	attributes := make(schema.Metadata, len(n.Attributes))
	for i, a := range n.Attributes {
		attributes[i] = schema.Entry{Key: a.Name, Value: a.Value}
	}
	s.field("attributes", attributes)
	s.end("}")
}

func (s *jsonStream) names(name string, all []string) {
	s.key(name)
	s.begin("[")
	for _, text := range all {
		s.next()
		s.value(text)
	}
	s.end("]")
}

// finish ends the text.
func (s *jsonStream) finish() error {
	s.out.WriteByte('\n')
	if err := s.out.Flush(); s.err == nil {
		s.err = err
	}
	return s.err
}

// indented is the number of levels that are indented. Deeper values are on one line: a file may
// nest a thousand levels, whose indentation would multiply the size of the output.
const indented = 8

// indenter filters the output of an encoder: it removes the line break after a value, escapes what
// is unsafe for a terminal, and indents if requested.
type indenter jsonStream

func (w *indenter) Write(text []byte) (int, error) {
	level := 0
	shown := func() bool { return w.lines && level <= indented }
	line := func() {
		if shown() {
			w.out.WriteString("\n" + strings.Repeat(" ", w.depth+level))
		}
	}
	for at := 0; at < len(text); at++ {
		switch c := text[at]; c {
		case '"':
			end := at + stringLength(text[at:])
			w.out.Write(cli.PrintableJSON(text[at:end]))
			at = end - 1
		case '{', '[':
			w.out.WriteByte(c)
			level++
			if c+2 != text[at+1] { // no line break in empty brackets
				line()
			}
		case '}', ']':
			own := shown() && c-2 != text[at-1]
			level--
			if own {
				line()
			}
			w.out.WriteByte(c)
		case ',':
			w.out.WriteByte(c)
			line()
		case ':':
			w.out.WriteByte(c)
			if shown() {
				w.out.WriteByte(' ')
			}
		case '\n': // after the value
		default:
			w.out.WriteByte(c)
		}
	}
	return len(text), nil
}

// stringLength returns the length of the JSON string at the start of text.
func stringLength(text []byte) int {
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}
