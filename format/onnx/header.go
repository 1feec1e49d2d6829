package onnx

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// What the writer says when the plan does not.
const (
	defaultIRVersion = 8
	defaultOpset     = 17
	defaultGraphName = "graph"
)

// header is the model but for the graph, while it is planned.
type header struct {
	model
	sets bool // the plan says which operator sets
	keys map[string]bool
	file *carried // what the plan's Native has, nil for nothing
}

// take takes an entry of the metadata. converted says that it becomes a string.
func (h *header) take(e driver.Entry) (converted bool, err error) {
	if err := checkText(e.Key); err != nil {
		return false, err
	}
	if number := h.number(e.Key); number != nil && *number == nil {
		if n, ok := e.Value.(int64); ok {
			*number = &n
			return false, nil
		}
	}
	value, err := e.Text()
	if err == nil {
		err = checkText(value)
	}
	if err != nil {
		return false, err
	}
	_, isText := e.Value.(string)
	if text := h.text(e.Key); text != nil && *text == nil && isText && !h.file.isProperty(e.Key) {
		*text = &value
		return false, nil
	}
	if sets, exact := opsets.Parse(e.Value); e.Key == keyOperatorSets && exact && !h.sets {
		h.sets = true
		for _, s := range sets {
			h.opsets = append(h.opsets, opset{s.Domain, s.Version})
		}
		return false, nil
	}
	if h.keys[e.Key] {
		return false, fmt.Errorf("%w: the key occurs twice", format.ErrUnsupported)
	}
	if h.keys == nil {
		h.keys = map[string]bool{}
	}
	h.keys[e.Key] = true
	h.props = append(h.props, stringEntry{e.Key, value})
	return !isText, nil
}

// number returns the field of the model for a key, nil for none.
func (h *header) number(key string) **int64 {
	switch key {
	case keyIRVersion:
		return &h.irVersion
	case keyModelVersion:
		return &h.modelVersion
	}
	return nil
}

// text is number for strings.
func (h *header) text(key string) **string {
	switch key {
	case keyProducerName:
		return &h.producer
	case keyProducerVersion:
		return &h.producerVersion
	case keyDomain:
		return &h.domain
	case keyDocString:
		return &h.doc
	}
	return nil
}

// plan takes what a plan says, and adds what a model must say.
func (h *header) plan(p *driver.Plan) error {
	for _, e := range p.Metadata {
		if _, err := h.take(e); err != nil {
			return fmt.Errorf("metadata %q: %w", e.Key, err)
		}
	}
	if h.irVersion == nil {
		v := int64(defaultIRVersion)
		for i := range p.Tensors {
			v = max(v, irVersionOf(storageOf(&p.Tensors[i]).code))
		}
		h.irVersion = &v
	}
	domains := map[string]bool{}
	if p.Graph != nil {
		domainsOf(p.Graph, domains)
	}
	if len(domains) == 0 && len(h.opsets) == 0 {
		domains[""] = true
	}
	for _, s := range h.opsets {
		delete(domains, s.domain)
		if s.domain == "ai.onnx" || s.domain == "" {
			delete(domains, "")
			delete(domains, "ai.onnx")
		}
	}
	var missing []string
	for d := range domains {
		if h.file == nil || h.file.imports(d) { // what a file does without, its copy does too
			missing = append(missing, d)
		}
	}
	slices.Sort(missing)
	for _, d := range missing {
		s := opset{d, 1}
		if d == "" || d == "ai.onnx" {
			s.version = defaultOpset
		}
		h.opsets = append(h.opsets, s)
	}
	return nil
}

// irVersionOf returns the first version of the representation with a type.
func irVersionOf(code int32) int64 {
	switch {
	case code >= 25:
		return 13
	case code == 24:
		return 12
	case code == 23:
		return 11
	case code >= 21:
		return 10
	case code >= 17:
		return 9
	}
	return 1
}

// domainsOf collects the operator sets of the nodes of a graph, and of those in it.
func domainsOf(g *driver.Graph, set map[string]bool) {
	for i := range g.Nodes {
		set[g.Nodes[i].Domain] = true
		for _, a := range g.Nodes[i].Attributes {
			switch v := a.Value.(type) {
			case *driver.Graph:
				if v != nil {
					domainsOf(v, set)
				}
			case []*driver.Graph:
				for _, sub := range v {
					if sub != nil {
						domainsOf(sub, set)
					}
				}
			}
		}
	}
}

// frame is a model without its tensors: what precedes the graph, and the graph before and
// after its initializers. The graph comes last, so that a file that is cut short is
// never taken for a whole one.
type frame struct {
	front, before, after []byte
	shells               map[string]shell // by tensor
}

// frameOf makes the frame of a plan.
func frameOf(p *driver.Plan) (f frame, err error) {
	var h header
	if h.file, err = carry(p); err != nil {
		return f, err
	}
	if err = h.plan(p); err != nil {
		return f, err
	}
	f.front = h.file.front(&h.model)
	if err = checkFront(f.front); err != nil {
		return f, err
	}
	if h.file != nil {
		f.shells = h.file.shells
	}
	if h.file != nil && h.file.same {
		f.before, f.after = h.file.graphBytes()
		return f, checkGraph(h.file.graph, len(p.Tensors))
	}
	g := &graph{}
	if p.Graph != nil {
		if g, err = graphMessage(p.Graph); err != nil {
			return f, err
		}
	}
	if g.name == "" {
		g.name = defaultGraphName
	}
	f.before = graphMsg.Append(nil, &graph{nodes: g.nodes, name: g.name})
	f.after = graphMsg.Append(nil, &graph{inputs: g.inputs, outputs: g.outputs})
	return f, checkGraph(slices.Concat(f.before, f.after), len(p.Tensors))
}

// initializer returns the message of a tensor up to its data, and the bytes before that in
// the graph, for one at an offset of the file. more are fields besides.
func initializer(t *tensor.Info, more []byte, at int64) []byte {
	kept := storageOf(t)
	code := int64(kept.code)
	head := append(appendDims(nil, t.Shape), more...)
	tail := protobuf.PutBytes(nil, 8, []byte(t.Name))
	switch {
	case kept.form == asSparse:
		return appendLength(nil, 15, t.Size)
	case kept.form == asFields, code != int64(byte(code)&0x7f): // which is not aligned
		b := append(protobuf.PutInt(head, 2, code), tail...)
		if kept.form == asRaw {
			b = appendLength(b, rawData, t.Size)
		}
		return append(appendLength(nil, 5, int64(len(b))+t.Size), b...)
	}
	for pad := int64(0); ; pad++ {
		if pad == 1 {
			continue // a field takes two bytes at least
		}
		b := append(appendType(head[:len(head):len(head)], code, pad), tail...)
		b = appendLength(b, rawData, t.Size)
		b = append(appendLength(nil, 5, int64(len(b))+t.Size), b...)
		if t.Size == 0 || (at+int64(len(b)))%alignment == 0 {
			return b
		}
	}
}
