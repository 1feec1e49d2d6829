package onnx

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/textmeta"
	"google.golang.org/protobuf/encoding/protowire"
)

// model is a ModelProto without its graph.
type model struct {
	fields [len(modelKeys)]any // by number: int64, string, or nil
	opsets []schema.OperatorSet
	props  []stringEntry
}

type stringEntry struct{ key, value string }

// modelKeys are the metadata keys of single fields, by number.
var modelKeys = [...]string{
	irVersion: opsets.KeyIRVersion, 2: "producer_name", 3: "producer_version", 4: "domain", modelVersion: "model_version", 6: "doc_string",
}

// The fields that are numbers.
const (
	irVersion    = 1
	modelVersion = 5
)

// metadata returns the fields of the model under their names, then metadata_props.
func (m *model) metadata() schema.Metadata {
	out := make(schema.Metadata, 0, 7+len(m.props))
	add := func(key string, value any) { out = append(out, schema.Entry{Key: key, Value: value}) }
	for num, value := range m.fields {
		if value != nil {
			add(modelKeys[num], value)
		}
	}
	if len(m.opsets) > 0 {
		text, _ := json.Marshal(m.opsets) // which texts and numbers cannot fail
		add(opsets.Key, json.RawMessage(text))
	}
	for _, p := range m.props {
		add(p.key, p.value)
	}
	return out
}

// notes lists tolerated oddities.
func (f *parsed) notes() []string {
	var notes []string
	if f.model.fields[irVersion] == nil {
		notes = append(notes, "the file does not say its IR version")
	}
	if len(f.model.opsets) == 0 {
		notes = append(notes, "the file imports no operator sets")
	}
	return notes
}

// header is the model without its graph, before it is written.
type header struct {
	model
	sets    bool // the schema says which operator sets
	keys    map[string]bool
	entries schema.Metadata // those that become metadata_props
	file    *original       // what the schema's Native has
}

// take takes an entry of the metadata. Those that are no field of the model become entries.
func (h *header) take(e schema.Entry) error {
	num := slices.Index(modelKeys[:], e.Key)
	free := num > 0 && h.fields[num] == nil
	isNumber := num == irVersion || num == modelVersion
	if n, ok := e.Value.(int64); ok && free && isNumber {
		h.fields[num] = n
		return nil
	}
	value, err := e.Text()
	if err != nil {
		return err
	}
	if !utf8.ValidString(e.Key + value) {
		return fmt.Errorf("%w: invalid UTF-8", format.ErrCorrupt)
	}
	_, isText := e.Value.(string)
	if free && !isNumber && isText && !h.file.isProperty(num) {
		h.fields[num] = value
		return nil
	}
	if sets, exact := opsets.Parse(e.Value); e.Key == opsets.Key && exact && !h.sets {
		h.sets = true
		h.opsets = append(h.opsets, sets...)
		return nil
	}
	if h.keys[e.Key] {
		return fmt.Errorf("%w: the key occurs twice", format.ErrUnsupported)
	}
	h.keys[e.Key] = true
	h.entries = append(h.entries, e)
	return nil
}

// fill takes the metadata of a schema, and adds the fields that a model must have.
func (h *header) fill(p *schema.Schema) {
	for _, e := range p.Metadata {
		_ = h.take(e) // Losses checked it
	}
	for _, e := range textmeta.Encode(h.entries) {
		value, _ := e.Value.(string)
		h.props = append(h.props, stringEntry{e.Key, value})
	}
	if h.fields[irVersion] == nil {
		v := int64(opsets.DefaultIRVersion)
		for i := range p.Tensors {
			v = max(v, irVersionOf(storageOf(&p.Tensors[i]).code))
		}
		h.fields[irVersion] = v
	}
	domains := map[string]bool{}
	p.Graph.Walk(func(g *schema.Graph) {
		for _, n := range g.Nodes {
			domains[n.Domain] = true
		}
	})
	if len(domains) == 0 && len(h.opsets) == 0 {
		domains[""] = true
	}
	said := h.opsets
	for _, d := range slices.Sorted(maps.Keys(domains)) {
		isSaid := slices.ContainsFunc(said, func(o schema.OperatorSet) bool { return o.Domain == d || isOwn(o.Domain) && isOwn(d) })
		if isSaid || !h.file.mayImport(d) { // what a file does without, its copy does too
			continue
		}
		s := schema.OperatorSet{Domain: d, Version: 1}
		if isOwn(d) {
			s.Version = opsets.DefaultVersion
		}
		h.opsets = append(h.opsets, s)
	}
}

// isOwn reports whether a domain is that of the standard operators.
func isOwn(domain string) bool { return domain == "" || domain == "ai.onnx" }

// irVersionOf returns the first version of the representation with a type.
func irVersionOf(code int32) int64 {
	for _, since := range []struct{ code, version int32 }{{25, 13}, {24, 12}, {23, 11}, {21, 10}, {17, 9}} {
		if code >= since.code {
			return int64(since.version)
		}
	}
	return 1
}

// front returns the model without its graph. Operator sets come first, so that the file is
// recognized for any texts.
func (h *header) front() []byte {
	b := h.field(nil, irVersion)
	for _, o := range h.opsets {
		field := h.file.sets[o]
		if field == nil {
			field = protobuf.PutBytes(nil, 8, protobuf.PutInt(protobuf.PutText(nil, 1, o.Domain), 2, o.Version))
		}
		b = append(b, field...)
	}
	for num := irVersion + 1; num < len(h.fields); num++ {
		b = h.field(b, num)
	}
	for _, e := range h.props {
		field := h.file.props[e]
		if field == nil {
			field = putEntry(nil, 14, e)
		}
		b = append(b, field...)
	}
	return append(b, h.file.rest...)
}

// field appends a field of the model, if the schema has it.
func (h *header) field(b []byte, num int) []byte {
	switch v := h.fields[num].(type) {
	case int64:
		return protobuf.PutVarint(b, protowire.Number(num), v)
	case string:
		return protobuf.PutBytes(b, protowire.Number(num), v)
	}
	return b
}

func putEntry(b []byte, num protowire.Number, e stringEntry) []byte {
	return protobuf.PutBytes(b, num, protobuf.PutText(protobuf.PutText(nil, 1, e.key), 2, e.value))
}

// encode encodes the schema without its tensors: what precedes the graph, and the graph before and
// after its initializers. The graph comes last, so that a truncated file is never taken for a whole
// one.
func (w *writer) encode() (err error) {
	h := header{keys: map[string]bool{}}
	if h.file, err = originalOf(w.schema, &schema.LossList{}); err != nil {
		return err
	}
	h.fill(w.schema)
	w.front = h.front()
	// The reader must not refuse what is written.
	if err = newParsed(protobuf.InMemory(w.front), &driver.Index{}, &driver.ParseOptions{}).readModel(); err != nil {
		return err
	}
	graph := h.file.graph
	if graph == nil {
		named := *cmp.Or(w.schema.Graph, &schema.Graph{})
		named.Name = cmp.Or(named.Name, opsets.DefaultGraphName)
		if graph, err = graphSchema.AppendGraph(nil, &named); err == nil {
			_, err = decodeGraph(graph)
		}
	}
	w.shells = h.file.shells
	w.after, w.before = onnxgraph.Split(graphMsg, graph, graphSchema.Inputs, graphSchema.Outputs)
	return err
}
