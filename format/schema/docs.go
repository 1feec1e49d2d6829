package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// Doc is what a file says about one of its parts in words: a text, properties, or both.
type Doc struct {
	// Path is the part of the schema:
	//
	//	tensor "w"                         a tensor; the name is quoted as in Go
	//	graph                              the graph
	//	graph.nodes[3]                     a node, by its index in Graph.Nodes
	//	graph.nodes[3].attributes[0]       an attribute
	//	graph.nodes[3].attributes[0].t     the tensor in it, .tensors[1] of a list
	//	graph.nodes[3].attributes[0].g     the graph in it, .graphs[1] of a list, with parts like graph
	//	graph.inputs[0], graph.outputs[0]  an input, an output
	//	graph.initializers[0]              what the graph itself says about a tensor that it declares
	Path string
	// Name is the name of the part, if it has one. Model.Schema sets it, and writers ignore it.
	Name string
	// Text is the doc string.
	Text string
	// Properties are pairs of keys and values, in the order of the file. Keys may repeat.
	Properties [][2]string
}

// isEmpty reports whether the doc says nothing.
func (d *Doc) isEmpty() bool { return d.Text == "" && len(d.Properties) == 0 }

// inGraph reports whether the doc is about the graph or a part of it.
func (d *Doc) inGraph() bool { return d.Path == "graph" || strings.HasPrefix(d.Path, "graph.") }

// Renumber returns docs for a schema in which the elements of a list, such as "graph.nodes", have
// other indices: index returns the new one, or -1 for an element that is gone, whose docs go too.
func Renumber(docs []Doc, list string, index func(old int) int) []Doc {
	var out []Doc
	for _, d := range docs {
		rest, isBelow := strings.CutPrefix(d.Path, list)
		name, i, rest := cutElement(rest)
		if isBelow && name == "" && i >= 0 {
			i = index(i)
			if i < 0 {
				continue
			}
			d.Path = fmt.Sprintf("%s[%d]%s", list, i, rest)
		}
		out = append(out, d)
	}
	return out
}

// withoutStaleDocs returns the schema without the docs of tensors or of a graph that it does not
// have: a caller that drops these need not drop their docs.
func (p *Schema) withoutStaleDocs() *Schema {
	if len(p.Docs) == 0 {
		return p
	}
	tensors := make(map[string]bool, len(p.Tensors))
	for i := range p.Tensors {
		tensors[p.Tensors[i].Name] = true
	}
	isStale := func(d Doc) bool {
		if d.inGraph() {
			return p.Graph == nil
		}
		name, isTensor := d.tensor()
		return isTensor && !tensors[name]
	}
	if !slices.ContainsFunc(p.Docs, isStale) {
		return p
	}
	out := *p
	out.Docs = slices.DeleteFunc(slices.Clone(p.Docs), isStale)
	return &out
}

// tensor returns the name of the tensor that the doc is about.
func (d *Doc) tensor() (name string, isTensor bool) {
	quoted, isTensor := strings.CutPrefix(d.Path, "tensor ")
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return "", false
	}
	return name, isTensor && strconv.Quote(name) == quoted
}

// cutElement cuts ".nodes[3].attributes[0]" into ".nodes", 3 and ".attributes[0]". i is -1 if the
// path does not begin with an element of a list.
func cutElement(path string) (list string, i int, rest string) {
	list, rest, _ = strings.Cut(path, "[")
	digits, rest, isElement := strings.Cut(rest, "]")
	i, err := strconv.Atoi(digits)
	if !isElement || err != nil || i < 0 || strconv.Itoa(i) != digits {
		return "", -1, ""
	}
	return list, i, rest
}

// attribute returns the indices of the node and the attribute that the doc is about, or about a part
// of, and the path of that part. attribute is -1 for other docs.
func (d *Doc) attribute() (node, attribute int, rest string) {
	path, inGraph := strings.CutPrefix(d.Path, "graph")
	nodes, node, rest := cutElement(path)
	attributes, attribute, rest := cutElement(rest)
	if !inGraph || nodes != ".nodes" || attributes != ".attributes" {
		return -1, -1, ""
	}
	return node, attribute, rest
}

// hasPart reports whether the graph has the part with a path behind its own.
func (g *Graph) hasPart(path string) bool {
	if g == nil || path == "" {
		return g != nil
	}
	list, i, rest := cutElement(path)
	switch list {
	case ".nodes":
		return i < len(g.Nodes) && g.Nodes[i].hasPart(rest)
	case ".inputs":
		return i < len(g.Inputs) && rest == ""
	case ".outputs":
		return i < len(g.Outputs) && rest == ""
	case ".initializers":
		return i < len(g.Initializers) && rest == ""
	}
	return false
}

func (n *Node) hasPart(path string) bool {
	list, i, rest := cutElement(path)
	switch {
	case path == "":
		return true
	case list != ".attributes" || i >= len(n.Attributes):
		return false
	case rest == "":
		return true
	}
	list, k, inner := cutElement(rest)
	switch v := n.Attributes[i].Value.(type) {
	case tensor.View:
		return rest == ".t"
	case []tensor.View:
		return list == ".tensors" && k < len(v) && inner == ""
	case *Graph:
		inner, isGraph := strings.CutPrefix(rest, ".g")
		return isGraph && v.hasPart(inner)
	case []*Graph:
		return list == ".graphs" && k < len(v) && v[k].hasPart(inner)
	}
	return false
}

// mostPairs is the number of properties that readers take.
const mostPairs = 1 << 20

// checkDocs returns an error for the first doc that is about no part of the schema, or has text
// that is not valid. None is stale.
func (p *Schema) checkDocs(format string) error {
	if len(p.Docs) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(p.Docs))
	pairs := 0
	for i := range p.Docs {
		d := &p.Docs[i]
		pairs += len(d.Properties)
		inner, inGraph := strings.CutPrefix(d.Path, "graph")
		_, isTensor := d.tensor()
		err := d.check()
		switch {
		case !isTensor && !(inGraph && p.Graph.hasPart(inner)):
			err = fmt.Errorf("the schema has no part %.200q", d.Path)
		case seen[d.Path]:
			err = fmt.Errorf("a doc before it is about %.200q too", d.Path)
		case pairs > mostPairs:
			err = fmt.Errorf("%w: more than %d properties", tensor.ErrLimit, mostPairs)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", tensor.ErrSchema, err)
			field := fmt.Sprintf("docs[%d]", i)
			return &tensor.Error{Format: format, Field: field, Offset: -1, Err: err}
		}
		seen[d.Path] = true
	}
	return nil
}

// errText is the error of text that no format can hold.
var errText = errors.New("invalid UTF-8")

// check returns an error for text that is not valid.
func (d *Doc) check() error {
	if !utf8.ValidString(d.Text) {
		return errText
	}
	for _, p := range d.Properties {
		if !utf8.ValidString(p[0]) || !utf8.ValidString(p[1]) {
			return errText
		}
	}
	return nil
}

// Docs says which docs the format has a place for: of a doc, its text and its properties. Without a
// call, it has a place for none. The others are losses.
func (l *LossList) Docs(holds func(d *Doc) (text, properties bool)) { l.holds = holds }

// docs adds the docs that the format has no place for, one loss for all texts and one for all
// properties. Those of a graph that is lost go with it.
func (l *LossList) docs(p *Schema) {
	var kept []Doc
	var texts, properties lostDocs
	hasGraph := !l.HasGraph()
	for _, d := range p.Docs {
		if d.inGraph() && !hasGraph {
			continue
		}
		holdsText := false
		holdsProperties := false
		if l.holds != nil {
			holdsText, holdsProperties = l.holds(&d)
		}
		if !holdsText && d.Text != "" {
			texts.add(&d)
			d.Text = ""
		}
		if !holdsProperties && len(d.Properties) > 0 {
			properties.add(&d)
			d.Properties = nil
		}
		if !d.isEmpty() {
			kept = append(kept, d)
		}
	}
	keep := found{edit: func(p *Schema) { p.Docs = kept }}
	if texts.count > 0 {
		l.add(LossLabel, "doc_string", texts.err(), keep)
	}
	if properties.count > 0 {
		l.add(LossLabel, "properties", properties.err(), keep)
	}
}

// lostDocs counts docs that a format has no place for.
type lostDocs struct {
	count int
	first string // the path of one
}

func (l *lostDocs) add(d *Doc) {
	if l.count == 0 {
		l.first = d.Path
	}
	l.count++
}

func (l *lostDocs) err() error {
	if l.count == 1 {
		return unsupported("the format has no place for that of " + l.first)
	}
	return unsupported(fmt.Sprintf("the format has no place for those of %d parts, such as %s",
		l.count, l.first))
}
