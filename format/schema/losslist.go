package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// LossList collects the parts of a schema that a format cannot hold.
type LossList struct {
	found []found
	holds func(*Doc) (text, properties bool) // nil if the format has no docs
}

// found is a loss, and what accepting it implies.
type found struct {
	Loss
	cause   error
	edit    func(p *Schema) // removes the part from a copy of the schema; nil if the encoder converts or omits it
	inGraph bool            // the loss is void if the graph is dropped
}

// removed is the value of an entry or attribute that an edit removes. The edits of others go by its
// index.
type removed struct{}

func (l *LossList) add(kind LossKind, name string, err error, f found) {
	var located *tensor.Error
	if errors.As(err, &located) {
		err = located.Err // the loss has the position
	}
	why := strings.TrimPrefix(err.Error(), schemaPrefix)
	why = strings.TrimPrefix(why, tensor.ErrUnsupported.Error()+": ")
	f.Loss = Loss{kind, name, why, slices.Contains(acceptable, string(kind))}
	f.cause = err
	l.found = append(l.found, f)
}

func unsupported(text string) error { return fmt.Errorf("%w: %s", tensor.ErrUnsupported, text) }

// Quantization adds the quantization parameters of tensor i.
func (l *LossList) Quantization(p *Schema, i int, err error) {
	l.add(LossQuantization, p.Tensors[i].Name, err, found{edit: func(p *Schema) { p.Tensors[i].Quant = nil }})
}

// AllQuantization adds the parameters of all tensors, for a format without quantization.
func (l *LossList) AllQuantization(p *Schema, text string) {
	err := unsupported(text)
	for i := range p.Tensors {
		if p.Tensors[i].Quant != nil {
			l.Quantization(p, i, err)
		}
	}
}

// Metadata adds entry i of the metadata.
func (l *LossList) Metadata(p *Schema, i int, err error) {
	l.add(LossMetadata, p.Metadata[i].Key, err, found{edit: func(p *Schema) { p.Metadata[i].Value = removed{} }})
}

// AllMetadata adds all entries, for a format without metadata.
func (l *LossList) AllMetadata(p *Schema, text string) {
	for i, e := range p.Metadata {
		l.Metadata(p, i, fmt.Errorf("%w: %s (%s)", tensor.ErrUnsupported, text, TypeName(e.Value)))
	}
}

// UniqueMetadata adds the entries for which check returns an error and, for a format with
// unique keys, those whose key an earlier valid entry has.
func (l *LossList) UniqueMetadata(p *Schema, check func(i int, e Entry) error) {
	kept := make(map[string]bool, len(p.Metadata))
	for i, e := range p.Metadata {
		err := fmt.Errorf("%w: the key occurs twice", tensor.ErrCorrupt)
		if !kept[e.Key] {
			err = check(i, e)
			kept[e.Key] = err == nil
		}
		if err != nil {
			l.Metadata(p, i, err)
		}
	}
}

// TypeName returns the name of the type of a metadata or attribute value for errors, such as
// "int64" or "list of string".
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case json.RawMessage:
		return "JSON"
	case json.Number:
		return "number"
	case []any:
		return "list"
	case map[string]any, Metadata:
		return "object"
	}
	name := fmt.Sprintf("%T", v)
	elem, isList := strings.CutPrefix(name, "[]")
	short := strings.ToLower(elem[strings.LastIndexByte(elem, '.')+1:])
	if isList {
		return "list of " + short
	}
	return short
}

// Graph adds the graph because the format cannot hold one of its parts, such as a node.
func (l *LossList) Graph(part string, err error) {
	l.add(LossGraph, part, err, found{edit: func(p *Schema) {
		p.Graph = nil
		p.Docs = p.withoutStaleDocs().Docs
	}})
}

// AnyGraph adds the graph unless it is empty, for a format without graphs.
func (l *LossList) AnyGraph(p *Schema, text string) {
	g := p.Graph
	if g != nil && (g.Name != "" || len(g.Inputs)+len(g.Outputs)+len(g.Nodes) > 0) {
		l.Graph("", unsupported(text))
	}
}

// TensorsOnly adds all metadata, quantization parameters and the graph, for a format
// that has none of them.
func (l *LossList) TensorsOnly(p *Schema, format string) {
	l.AllMetadata(p, format+" has no metadata")
	l.AllQuantization(p, format+" has no quantization parameters")
	l.AnyGraph(p, format+" has no graph")
}

// DTypes adds the tensors whose dtype is not in known.
func (l *LossList) DTypes(p *Schema, format string, known []tensor.DType) {
	for i := range p.Tensors {
		if t := &p.Tensors[i]; !slices.Contains(known, t.DType) {
			var names []string
			for _, d := range known {
				names = append(names, d.String())
			}
			l.Fixed(LossDType, t.Name, fmt.Errorf("%w: dtype %s (%s has %s)", tensor.ErrUnsupported, t.TypeName(), format, strings.Join(names, ", ")))
		}
	}
}

// Attribute adds attribute j of node i.
func (l *LossList) Attribute(p *Schema, i, j int, err error) {
	remove := func(p *Schema) { p.Graph.Nodes[i].Attributes[j].Value = removed{} }
	l.add(LossAttribute, AttributeName(p, i, j), err, found{edit: remove, inGraph: true})
}

// AttributeName returns the name of attribute j of node i in losses, such as "nodes[1].alpha".
func AttributeName(p *Schema, i, j int) string {
	return fmt.Sprintf("nodes[%d].%s", i, p.Graph.Nodes[i].Attributes[j].Name)
}

// Renamed adds the name of tensor i, which the encoder will replace.
func (l *LossList) Renamed(p *Schema, i int, text string) {
	l.add(LossName, p.Tensors[i].Name, unsupported(text), found{})
}

// ConvertedMetadata adds entry i, whose value the encoder will convert.
func (l *LossList) ConvertedMetadata(p *Schema, i int, text string) {
	l.add(LossConversion, fmt.Sprintf("metadata %q", p.Metadata[i].Key), unsupported(text), found{})
}

// Converted adds a LossConversion, LossValue or LossLabel of the graph, which the
// encoder will convert or omit.
func (l *LossList) Converted(kind LossKind, name, text string) {
	l.add(kind, name, unsupported(text), found{inGraph: true})
}

// Initializers adds the graph's list of initializers, for a format without such lists. A
// list of all tensors, in any order, is not a loss: it is the default without a list.
func (l *LossList) Initializers(p *Schema, text string) {
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
func (l *LossList) Fixed(kind LossKind, name string, err error) {
	l.add(kind, name, err, found{})
}

// Native adds a kind of native contents that contradicts the schema. The encoder omits the
// items concerned.
func (l *LossList) Native(kind string, err error) {
	l.add(LossNative, kind, err, found{})
}

// foreign adds the native contents of another format.
func (l *LossList) foreign(p *Schema, format string) {
	if p.Native == nil || p.Native.Format == format {
		return
	}
	for _, k := range p.Native.Kinds {
		err := fmt.Errorf("%w: only %s has it (%d, %d bytes)", tensor.ErrUnsupported, p.Native.Format, k.Count, k.Bytes)
		l.add(LossNative, k.Name, err, found{edit: func(p *Schema) { p.Native = nil }})
	}
}

// part adds that the tensors are not all of a model.
func (l *LossList) part(p *Schema) {
	if p.Parts < 2 {
		return
	}
	err := unsupported(fmt.Sprintf("the tensors are those of part %d of %d of a model", p.Part, p.Parts))
	l.add(LossPart, "", err, found{edit: func(p *Schema) { p.Part, p.Parts = 0, 0 }})
}

// HasGraph reports whether the graph is among the losses.
func (l *LossList) HasGraph() bool {
	return slices.ContainsFunc(l.found, func(f found) bool { return f.Kind == LossGraph })
}

// Fit returns the schema without the losses that the caller accepts, or a LossError with all
// others. losses adds everything that the format cannot hold of a schema, or fails.
func Fit(format string, p *Schema, accept []string, losses func(p *Schema, l *LossList) error) (*Schema, error) {
	accepted := make(map[string]bool, len(accept))
	for _, s := range accept {
		kind, _, _ := strings.Cut(s, ":")
		if !slices.Contains(acceptable, kind) {
			err := fmt.Errorf("%w: %w: %q is not a kind of loss that can be accepted (%s)", tensor.ErrSchema, tensor.ErrUnsupported, s, strings.Join(acceptable, ", "))
			return nil, &tensor.Error{Format: format, Field: "AcceptLoss", Offset: -1, Err: err}
		}
		accepted[s] = true
	}
	p = p.withoutStaleDocs()
	err := p.checkDocs(format)
	if err != nil {
		return nil, err
	}
	// Removing a part may cause other losses. Every turn removes more, so the loop
	// ends.
	for {
		var l LossList
		err := losses(p, &l)
		if err != nil {
			return nil, err
		}
		l.foreign(p, format)
		l.part(p)
		l.docs(p)
		if l.HasGraph() {
			l.found = slices.DeleteFunc(l.found, func(f found) bool { return f.inGraph })
		}
		err = l.refusal(format, accepted)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(l.found, func(f found) bool { return f.edit != nil }) {
			return p, nil
		}
		p = l.without(p)
	}
}

// refusal returns the error for the losses that are not accepted, or nil.
func (l *LossList) refusal(format string, accepted map[string]bool) error {
	open := slices.DeleteFunc(slices.Clone(l.found), func(f found) bool {
		return f.Acceptable && (accepted[string(f.Kind)] || accepted[f.Item()])
	})
	if len(open) == 0 {
		return nil
	}
	rank := func(f found) uint { return uint(slices.Index(acceptable, string(f.Kind))) } // -1 is the largest
	slices.SortStableFunc(open, func(a, b found) int { return cmp.Compare(rank(a), rank(b)) })
	e := &LossError{Format: format, causes: []error{tensor.ErrSchema, tensor.ErrUnsupported}}
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

// without returns a copy of the schema without the losses on the list.
func (l *LossList) without(p *Schema) *Schema {
	out := &Schema{
		Metadata: slices.Clone(p.Metadata), Tensors: slices.Clone(p.Tensors),
		Graph: p.Graph.Clone(),
		Docs:  slices.Clone(p.Docs), Native: p.Native, Part: p.Part, Parts: p.Parts,
	}
	for _, f := range l.found {
		if f.edit != nil {
			f.edit(out)
		}
	}
	out.Metadata = kept(out.Metadata, func(e Entry) any { return e.Value })
	left := map[int][]int{} // indices of attributes, by node
	if out.Graph != nil {
		for i := range out.Graph.Nodes {
			n := &out.Graph.Nodes[i]
			all := n.Attributes
			n.Attributes = kept(all, func(a Attribute) any { return a.Value })
			if len(n.Attributes) < len(all) {
				left[i] = indicesLeft(all)
			}
		}
	}
	out.followAttributes(left)
	return out
}

// indicesLeft returns the new indices of attributes, -1 for those that an edit has removed.
func indicesLeft(all []Attribute) []int {
	indices := make([]int, len(all))
	n := 0
	for i, a := range all {
		if a.Value == any(removed{}) {
			indices[i] = -1
			continue
		}
		indices[i] = n
		n++
	}
	return indices
}

// followAttributes gives docs the new indices of the attributes of nodes that have lost some.
func (p *Schema) followAttributes(left map[int][]int) {
	if len(left) == 0 {
		return
	}
	var docs []Doc
	for _, d := range p.Docs {
		node, attribute, rest := d.attribute()
		indices := left[node]
		if attribute >= 0 && attribute < len(indices) {
			attribute = indices[attribute]
			if attribute < 0 {
				continue
			}
			d.Path = fmt.Sprintf("graph.nodes[%d].attributes[%d]%s", node, attribute, rest)
		}
		docs = append(docs, d)
	}
	p.Docs = docs
}

// kept returns the elements whose value no edit has removed.
func kept[T any](list []T, value func(T) any) (out []T) {
	for _, x := range list {
		if value(x) != any(removed{}) {
			out = append(out, x)
		}
	}
	return out
}
