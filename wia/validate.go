package wia

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/opsets"
)

// Problem is a mistake in a graph that does not keep the file from being read.
type Problem struct {
	Path    string // "graph.nodes[3].inputs[1]"
	Message string
}

// String joins both with a colon.
func (p Problem) String() string { return p.Path + ": " + p.Message }

// Validate checks the structure of the file's graph; see the function of the
// same name. A file without a graph has no problems.
func (f *File) Validate() ([]Problem, error) {
	g, err := f.Graph()
	if g == nil || err != nil {
		return nil, err
	}
	return Validate(g, func(name string) bool {
		_, ok := f.f.index.Lookup(name)
		return ok
	}), nil
}

// Validate checks a graph as ONNX would have it, and lists what is wrong in the order
// of the graph: names that nothing defines, or only a later node, as in a cycle; names
// that are defined twice; nodes without operator, with one that ONNX lacks, and of
// unknown operator sets. isTensor tells the tensors of the model, which are defined
// without being declared; nil means there are none.
func Validate(g *format.Graph, isTensor func(name string) bool) []Problem {
	if isTensor == nil {
		isTensor = func(string) bool { return false }
	}
	v := &validator{isTensor: isTensor}
	v.graph("graph", g, nil)
	return v.problems
}

type validator struct {
	isTensor func(string) bool
	problems []Problem
	inside   []*format.Graph // that are being checked
}

func (v *validator) report(path, text string, args ...any) {
	v.problems = append(v.problems, Problem{path, fmt.Sprintf(text, args...)})
}

// scope is what names mean inside a graph. Subgraphs see the names around them.
type scope struct {
	outer   *scope
	defined map[string]bool // so far
	makers  map[string]int  // the node that defines a name, wherever it is
}

// knows reports whether a name is defined here or around here.
func (s *scope) knows(name string) bool {
	for ; s != nil; s = s.outer {
		if s.defined[name] {
			return true
		}
	}
	return false
}

// graph checks one graph.
func (v *validator) graph(path string, g *format.Graph, outer *scope) {
	switch {
	case g == nil:
		return // of a file without one, or an attribute
	case slices.Contains(v.inside, g):
		v.report(path, "the graph contains itself")
		return
	}
	v.inside = append(v.inside, g)
	defer func() { v.inside = v.inside[:len(v.inside)-1] }()
	s := &scope{outer: outer, defined: map[string]bool{}, makers: map[string]int{}}
	for i, in := range g.Inputs {
		if s.defined[in.Name] {
			v.report(fmt.Sprintf("%s.inputs[%d]", path, i), "input %q is listed twice", in.Name)
		}
		s.defined[in.Name] = true
	}
	// An initializer may give an input its default, so it may repeat a name.
	for _, name := range g.Initializers {
		s.defined[name] = true
	}
	for i := range g.Nodes {
		for _, out := range g.Nodes[i].Outputs {
			if _, twice := s.makers[out]; !twice && out != "" {
				s.makers[out] = i
			}
		}
	}
	for i := range g.Nodes {
		v.node(fmt.Sprintf("%s.nodes[%d]", path, i), i, &g.Nodes[i], s)
	}
	for i, out := range g.Outputs {
		if !s.knows(out.Name) && !v.isTensor(out.Name) {
			v.report(fmt.Sprintf("%s.outputs[%d]", path, i), "nothing defines output %q", out.Name)
		}
	}
}

// node checks one node and adds its outputs to the scope.
func (v *validator) node(path string, i int, n *format.Node, s *scope) {
	switch {
	case n.Op == "":
		v.report(path+".op_type", "a node without operator")
	case (n.Domain == "" || n.Domain == "ai.onnx") && !opsets.Known(n.Op):
		v.report(path+".op_type", "ONNX has no operator %q", n.Op)
	}
	if !slices.Contains(knownDomains, n.Domain) {
		v.report(path+".domain", "unknown operator set %q", n.Domain)
	}
	for j, in := range n.Inputs {
		at := fmt.Sprintf("%s.inputs[%d]", path, j)
		maker, made := s.makers[in]
		switch {
		case in == "" || s.knows(in) || v.isTensor(in):
		case !made:
			v.report(at, "nothing defines %q", in)
		case maker == i:
			v.report(at, "the node consumes its own output %q", in)
		default:
			v.report(at, "%q is used before node %d defines it", in, maker)
		}
	}
	for j := range n.Attributes {
		v.attribute(fmt.Sprintf("%s.attributes[%d]", path, j), &n.Attributes[j], s)
	}
	for j, out := range n.Outputs {
		if out == "" {
			continue
		}
		if s.defined[out] {
			v.report(fmt.Sprintf("%s.outputs[%d]", path, j), "%q is defined twice", out)
		}
		s.defined[out] = true
	}
}

// knownDomains are the operator sets of ONNX.
var knownDomains = []string{"", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training"}

// attribute checks the subgraphs of an attribute.
func (v *validator) attribute(path string, a *format.Attribute, s *scope) {
	switch value := a.Value.(type) {
	case *format.Graph:
		v.graph(path+".g", value, s)
	case []*format.Graph:
		for i, g := range value {
			v.graph(fmt.Sprintf("%s.graphs[%d]", path, i), g, s)
		}
	}
}
