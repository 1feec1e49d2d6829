package onnx

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/textmeta"
	"github.com/weightmap/weightmap/tensor"
)

// model is a ModelProto without its graph.
type model struct {
	values [len(modelKeys)]any // by field number: int64, string, or nil
	opsets []schema.OperatorSet
	props  []stringEntry
}

type stringEntry struct{ key, value string }

// modelKeys are the metadata keys of single fields, by number.
var modelKeys = [...]string{
	irVersion:    opsets.KeyIRVersion,
	2:            "producer_name",
	3:            "producer_version",
	4:            "domain",
	modelVersion: "model_version",
	6:            "doc_string",
}

// propertyBytes is the memory of a property besides its texts: in the list of properties, which
// doubles as it grows, in the metadata, and in a sorted list of keys.
const propertyBytes = 3*32 + 48 + 16

// setBytes is the memory of an operator set besides its domain: in a list that doubles, and in the
// metadata as JSON, which doubles too. A byte of its domain becomes up to six in JSON.
const (
	setBytes    = 3*24 + 3*48
	domainBytes = 1 + 3*6
)

// decode decodes the fields of a model. Their texts outlive it, so they are copies.
func (m *model) decode(msg messages.Message, room *messages.Room) error {
	for f := msg.Cursor(); f.Next(); {
		cost := int64(0)
		switch f.Number {
		case irVersion, modelVersion:
			m.values[f.Number] = f.Int()
		case 2, 3, 4, 6:
			cost = int64(len(f.Text()))
		case operatorSets:
			cost = setBytes + domainBytes*int64(len(f.Text()))
		case properties:
			cost = propertyBytes + int64(len(f.Text()))
		}
		err := room.Charge(f.At(), cost)
		if err != nil {
			return err
		}
		switch f.Number {
		case 2, 3, 4, 6:
			m.values[f.Number] = strings.Clone(f.Text())
		case operatorSets:
			m.opsets = append(m.opsets, operatorSet(f.Message()))
		case properties:
			m.props = append(m.props, property(f.Message()))
		}
	}
	key, found := onnxgraph.Duplicate(len(m.props), func(i int) string { return m.props[i].key })
	if found {
		err := messages.Errorf(0, "metadata_props", tensor.ErrCorrupt,
			"the name %.200q occurs twice", key)
		err.Whole = true
		return err
	}
	return nil
}

func operatorSet(m messages.Message) (set schema.OperatorSet) {
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case setDomain:
			set.Domain = strings.Clone(f.Text())
		case setVersion:
			set.Version = f.Int()
		}
	}
	return set
}

func property(m messages.Message) (e stringEntry) {
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case entryKey:
			e.key = strings.Clone(f.Text())
		case entryValue:
			e.value = strings.Clone(f.Text())
		}
	}
	return e
}

// metadata returns the fields of the model under their names, then metadata_props.
func (m *model) metadata() schema.Metadata {
	out := make(schema.Metadata, 0, 7+len(m.props))
	add := func(key string, value any) { out = append(out, schema.Entry{Key: key, Value: value}) }
	for num, value := range m.values {
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
	if f.fields.values[irVersion] == nil {
		notes = append(notes, "the file does not say its IR version")
	}
	if len(f.fields.opsets) == 0 {
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
	free := num > 0 && h.values[num] == nil
	isNumber := num == irVersion || num == modelVersion
	n, isInt := e.Value.(int64)
	if isInt && free && isNumber {
		h.values[num] = n
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
		h.values[num] = value
		return nil
	}
	sets, isExact := opsets.Parse(e.Value)
	if e.Key == opsets.Key && isExact && !h.sets {
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
	if h.values[irVersion] == nil {
		v := int64(opsets.DefaultIRVersion)
		for i := range p.Tensors {
			v = max(v, irVersionOf(storageOf(&p.Tensors[i]).code))
		}
		h.values[irVersion] = v
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
	said := map[string]bool{}
	for _, o := range h.opsets {
		said[o.Domain] = true
	}
	imported := h.file.imported()
	for _, d := range slices.Sorted(maps.Keys(domains)) {
		isSaid := said[d] || isOwn(d) && (said[""] || said["ai.onnx"])
		if isSaid || h.file.isSet && !imported[d] { // what a file does without, its copy does too
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
	switch {
	case code >= 25:
		return 13
	case code >= 24:
		return 12
	case code >= 23:
		return 11
	case code >= 21:
		return 10
	case code >= 17:
		return 9
	}
	return 1
}

// fields returns the fields of the model, with an empty one for the graph: in the order of the file
// that the model is a copy of. Those that the file does not have precede the graph.
func (h *header) fields() []modelField {
	fresh := h.encoded()
	queue := map[int][]modelField{}
	for _, f := range fresh {
		queue[f.number] = append(queue[f.number], f)
	}
	used := map[int]int{}
	var out []modelField
	for _, f := range h.file.fields {
		if !isHeader(f.number) {
			out = append(out, f)
			continue
		}
		if used[f.number] < len(queue[f.number]) {
			out = append(out, queue[f.number][used[f.number]])
			used[f.number]++
		}
	}
	var rest []modelField
	for _, f := range fresh {
		if used[f.number] == 0 {
			rest = append(rest, f)
			continue
		}
		used[f.number]--
	}
	graph := slices.IndexFunc(out, isGraph)
	if graph < 0 {
		return append(append(out, rest...), modelField{number: modelGraph})
	}
	return slices.Insert(out, graph, rest...)
}

func isGraph(f modelField) bool { return f.number == modelGraph }

// encoded returns the fields that the metadata of a schema has, operator sets second. What has not
// changed is as it was.
func (h *header) encoded() (fields []modelField) {
	for number := range h.values {
		if h.values[number] != nil {
			fields = append(fields, modelField{number, h.value(number)})
		}
		if number != irVersion {
			continue
		}
		for _, o := range h.opsets {
			fields = append(fields, modelField{operatorSets, h.operatorSet(o)})
		}
	}
	for _, e := range h.props {
		fields = append(fields, modelField{properties, h.property(e)})
	}
	return fields
}

// value returns a single field.
func (h *header) value(number int) []byte {
	raw := h.file.single[number]
	if raw != nil && h.file.model.values[number] == h.values[number] {
		return raw
	}
	switch v := h.values[number].(type) {
	case int64:
		return messages.AppendVarint(nil, number, v)
	case string:
		return messages.AppendBytes(nil, number, v)
	}
	return nil
}

// operatorSet returns the field of an operator set.
func (h *header) operatorSet(o schema.OperatorSet) []byte {
	raw := h.file.sets[o]
	if raw != nil {
		return raw
	}
	b, start := messages.Begin(nil, operatorSets)
	b = messages.AppendText(b, setDomain, o.Domain)
	b = messages.AppendInt(b, setVersion, o.Version)
	return messages.End(b, start)
}

// property returns the field of an entry of metadata_props.
func (h *header) property(e stringEntry) []byte {
	raw := h.file.props[e]
	if raw != nil {
		return raw
	}
	return appendEntry(nil, properties, e)
}

func appendEntry(b []byte, number int, e stringEntry) []byte {
	b, start := messages.Begin(b, number)
	b = messages.AppendText(b, entryKey, e.key)
	b = messages.AppendText(b, entryValue, e.value)
	return messages.End(b, start)
}

// setsFirst moves the IR version and the operator sets to the front, and the graph to the end: a
// file is recognized by them for any texts.
func setsFirst(fields []modelField) []modelField {
	rank := func(f modelField) int {
		return slices.Index([]int{irVersion, operatorSets, 0, modelGraph}, f.number)
	}
	var out []modelField
	for _, place := range []int{0, 1, -1, 3} {
		for _, f := range fields {
			if rank(f) != place {
				continue
			}
			if f.number == operatorSets {
				f.raw = knownFirst(f.raw)
			}
			out = append(out, f)
		}
	}
	return out
}

// knownFirst returns the field of an operator set with the known fields first.
func knownFirst(raw []byte) []byte {
	c := messages.Outermost(string(raw)).Cursor()
	c.Next()
	b, start := messages.Begin(nil, operatorSets)
	b = messages.AppendOnly(b, c.Message(), setDomain, setVersion)
	if len(b) == start && c.Text() != "" {
		b = messages.AppendVarint(b, setVersion, 0) // as it is without
	}
	b = messages.AppendOthers(b, c.Message(), setDomain, setVersion)
	return messages.End(b, start)
}
