package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// LossList collects the parts of a plan that a format cannot hold.
type LossList struct {
	found []found
}

// found is a loss, and the edit of the plan that accepting it implies.
type found struct {
	Loss
	cause      error
	edit       edit
	item, attr int  // tensor, entry or node; attribute of the node
	inGraph    bool // the loss is void if the graph is dropped
}

type edit uint8

const (
	keep edit = iota // no edit: the encoder converts or omits the part
	dropQuantization
	dropEntry
	dropGraph
	dropAttribute
	dropNative
)

func (l *LossList) add(kind LossKind, name string, err error, f found) {
	var located *tensor.Error
	if errors.As(err, &located) {
		err = located.Err // the loss has the position
	}
	why := strings.TrimPrefix(err.Error(), planPrefix)
	why = strings.TrimPrefix(why, ErrUnsupported.Error()+": ")
	f.Loss, f.cause = Loss{kind, name, why, slices.Contains(acceptable, kind)}, err
	l.found = append(l.found, f)
}

// Quantization adds the quantization parameters of tensor i.
func (l *LossList) Quantization(p *Plan, i int, err error) {
	l.add(LossQuantization, p.Tensors[i].Name, err, found{edit: dropQuantization, item: i})
}

// AllQuantization adds the parameters of all tensors, for a format without quantization.
func (l *LossList) AllQuantization(p *Plan, text string) {
	err := fmt.Errorf("%w: %s", ErrUnsupported, text)
	for i := range p.Tensors {
		if p.Tensors[i].Quant != nil {
			l.Quantization(p, i, err)
		}
	}
}

// Metadata adds entry i of the metadata.
func (l *LossList) Metadata(p *Plan, i int, err error) {
	l.add(LossMetadata, p.Metadata[i].Key, err, found{edit: dropEntry, item: i})
}

// AllMetadata adds all entries, for a format without metadata.
func (l *LossList) AllMetadata(p *Plan, text string) {
	for i, e := range p.Metadata {
		l.Metadata(p, i, fmt.Errorf("%w: %s (%s)", ErrUnsupported, text, TypeName(e.Value)))
	}
}

// UniqueMetadata adds the entries for which check returns an error and, for a format with
// unique keys, those whose key an earlier valid entry has.
func (l *LossList) UniqueMetadata(p *Plan, check func(i int, e Entry) error) {
	kept := make(map[string]bool, len(p.Metadata))
	for i, e := range p.Metadata {
		err := fmt.Errorf("%w: the key occurs twice", tensor.ErrCorrupt)
		if !kept[e.Key] {
			err = check(i, e)
		}
		if err != nil {
			l.Metadata(p, i, err)
			continue
		}
		kept[e.Key] = true
	}
}

// TypeName returns the name of the type of a metadata or attribute value for errors, such as
// "int64" or "list of string".
func TypeName(v any) string {
	if v == nil {
		return "null"
	}
	return neutral(fmt.Sprintf("%T", v))
}

// neutral returns the name of a Go type for users who do not know Go.
func neutral(name string) string {
	switch name {
	case "json.RawMessage":
		return "JSON"
	case "json.Number":
		return "number"
	case "[]interface {}":
		return "list"
	case "map[string]interface {}", "plan.Metadata":
		return "object"
	}
	if elem, ok := strings.CutPrefix(name, "[]"); ok {
		return "list of " + neutral(elem)
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.ToLower(name)
}

// Graph adds the graph because the format cannot hold one of its parts, such as a node.
func (l *LossList) Graph(part string, err error) {
	l.add(LossGraph, part, err, found{edit: dropGraph})
}

// AnyGraph adds the graph unless it is empty, for a format without graphs.
func (l *LossList) AnyGraph(p *Plan, text string) {
	g := p.Graph
	if g != nil && (g.Name != "" || len(g.Inputs)+len(g.Outputs)+len(g.Nodes) > 0) {
		l.Graph("", fmt.Errorf("%w: %s", ErrUnsupported, text))
	}
}

// TensorsOnly adds all metadata, quantization parameters and the graph, for a format
// that has none of them.
func (l *LossList) TensorsOnly(p *Plan, format string) {
	l.AllMetadata(p, format+" has no metadata")
	l.AllQuantization(p, format+" has no quantization parameters")
	l.AnyGraph(p, format+" has no graph")
}

// DTypes adds the tensors whose dtype is not in known.
func (l *LossList) DTypes(p *Plan, format string, known []tensor.DType) {
	for i := range p.Tensors {
		if t := &p.Tensors[i]; !slices.Contains(known, t.DType) {
			var names []string
			for _, d := range known {
				names = append(names, d.String())
			}
			l.Fixed(LossDType, t.Name, fmt.Errorf("%w: dtype %s (%s has %s)", ErrUnsupported, t.TypeName(), format, strings.Join(names, ", ")))
		}
	}
}

// Attribute adds attribute j of node i.
func (l *LossList) Attribute(p *Plan, i, j int, err error) {
	l.add(LossAttribute, AttributeName(p, i, j), err, found{edit: dropAttribute, item: i, attr: j, inGraph: true})
}

// AttributeName returns the name of attribute j of node i in losses, such as "nodes[1].alpha".
func AttributeName(p *Plan, i, j int) string {
	return fmt.Sprintf("nodes[%d].%s", i, p.Graph.Nodes[i].Attributes[j].Name)
}

// Renamed adds the name of tensor i, which the encoder will replace.
func (l *LossList) Renamed(p *Plan, i int, text string) {
	l.add(LossName, p.Tensors[i].Name, fmt.Errorf("%w: %s", ErrUnsupported, text), found{})
}

// ConvertedMetadata adds entry i, whose value the encoder will convert.
func (l *LossList) ConvertedMetadata(p *Plan, i int, text string) {
	l.add(LossConversion, fmt.Sprintf("metadata %q", p.Metadata[i].Key), fmt.Errorf("%w: %s", ErrUnsupported, text), found{})
}

// Converted adds a LossConversion, LossValue or LossLabel of the graph, which the
// encoder will convert or omit.
func (l *LossList) Converted(kind LossKind, name, text string) {
	l.add(kind, name, fmt.Errorf("%w: %s", ErrUnsupported, text), found{inGraph: true})
}

// Initializers adds the graph's list of initializers, for a format without such lists. A
// list of all tensors, in any order, is not a loss: it is the default without a list.
func (l *LossList) Initializers(p *Plan, text string) {
	if p.Graph.Initializers == nil {
		return
	}
	declared := make(map[string]bool, len(p.Graph.Initializers))
	for _, s := range p.Graph.Initializers {
		declared[s] = true
	}
	if len(declared) != len(p.Tensors) || slices.ContainsFunc(p.Tensors, func(t tensor.Info) bool { return !declared[t.Name] }) {
		l.Converted(LossLabel, "initializers", text)
	}
}

// Fixed adds a loss that cannot be accepted, such as a dtype or a shape.
func (l *LossList) Fixed(kind LossKind, name string, err error) { l.add(kind, name, err, found{}) }

// HasGraph reports whether the graph is among the losses.
func (l *LossList) HasGraph() bool {
	return slices.ContainsFunc(l.found, func(f found) bool { return f.edit == dropGraph })
}

// acceptance is the set of losses that the caller accepts.
type acceptance map[string]bool

// acceptanceOf parses WriteOptions.AcceptLoss.
func acceptanceOf(format string, names []string) (acceptance, error) {
	a := make(acceptance, len(names))
	for _, s := range names {
		kind, _, _ := strings.Cut(s, ":")
		if !slices.Contains(acceptable, LossKind(kind)) {
			return nil, &tensor.Error{Format: format, Field: "AcceptLoss", Offset: -1,
				Err: fmt.Errorf("%w: %w: %q is not a kind of loss that can be accepted (%s)", ErrPlan, ErrUnsupported, s, strings.Join(AcceptableLosses(), ", "))}
		}
		a[s] = true
	}
	return a, nil
}

func (a acceptance) covers(l Loss) bool {
	return l.Acceptable && (a[string(l.Kind)] || a[l.Item()])
}

// Fit returns the plan without the losses that the caller accepts, or a LossError with all others. losses
// adds everything that the format cannot hold of a plan.
func Fit(format string, p *Plan, accept []string, losses func(p *Plan, l *LossList)) (*Plan, error) {
	accepted, err := acceptanceOf(format, accept)
	if err != nil {
		return nil, err
	}
	// Removing a part may cause other losses. Every turn removes more, so the loop
	// ends.
	for {
		var l LossList
		losses(p, &l)
		l.foreign(p, format)
		if l.HasGraph() {
			l.found = slices.DeleteFunc(l.found, func(f found) bool { return f.inGraph })
		}
		if err := l.refusal(format, accepted); err != nil {
			return nil, err
		}
		less, changed := l.without(p)
		if !changed {
			return p, nil
		}
		p = less
	}
}

// refusal returns the error for the losses that are not accepted, or nil.
func (l *LossList) refusal(format string, accepted acceptance) error {
	open := slices.DeleteFunc(slices.Clone(l.found), func(f found) bool { return accepted.covers(f.Loss) })
	if len(open) == 0 {
		return nil
	}
	slices.SortStableFunc(open, func(a, b found) int { return a.rank() - b.rank() })
	e := &LossError{Format: format, causes: []error{ErrPlan, ErrUnsupported}}
	field := open[0].field()
	for _, f := range open {
		e.Losses = append(e.Losses, f.Loss)
		e.causes = append(e.causes, f.cause)
		if f.field() != field {
			field = ""
		}
	}
	return &tensor.Error{Format: format, Field: field, Offset: -1, Err: e}
}

// rank orders losses by kind.
func (l Loss) rank() int {
	if i := slices.Index(acceptable, l.Kind); i >= 0 {
		return i
	}
	return len(acceptable)
}

// without returns a copy of the plan without the losses on the list. If there is
// nothing to remove it returns the plan itself, and changed is false.
func (l *LossList) without(p *Plan) (out *Plan, changed bool) {
	if !slices.ContainsFunc(l.found, func(f found) bool { return f.edit != keep }) {
		return p, false
	}
	out = &Plan{Metadata: p.Metadata, Tensors: slices.Clone(p.Tensors), Graph: p.Graph, Native: p.Native}
	entries, attrs := map[int]bool{}, map[[2]int]bool{}
	for _, f := range l.found {
		switch f.edit {
		case keep:
			continue
		case dropQuantization:
			out.Tensors[f.item].Quant = nil
		case dropEntry:
			entries[f.item] = true
		case dropGraph:
			out.Graph = nil
		case dropNative:
			out.Native = nil
		case dropAttribute:
			attrs[[2]int{f.item, f.attr}] = true
		}
	}
	if len(entries) > 0 {
		out.Metadata = dropped(p.Metadata, func(i int) bool { return entries[i] })
	}
	if len(attrs) > 0 {
		g := *out.Graph
		g.Nodes = slices.Clone(g.Nodes)
		for i := range g.Nodes {
			n := &g.Nodes[i]
			n.Attributes = dropped(n.Attributes, func(j int) bool { return attrs[[2]int{i, j}] })
		}
		out.Graph = &g
	}
	return out, true
}

// dropped returns the elements for whose index drop returns false.
func dropped[T any](list []T, drop func(int) bool) []T {
	var out []T
	for i, x := range list {
		if !drop(i) {
			out = append(out, x)
		}
	}
	return out
}
