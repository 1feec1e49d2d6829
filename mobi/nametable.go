package mobi

import (
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// The format has no tensor names. With format.WriteOptions.KeepNames they become parameters
// of the first operator that consumes the constant. For a schema without operators,
// the writer adds operators of type nameOperator, which hold the names, the
// quantization, and the keys of the schema's metadata. See the package documentation.
const (
	nameOperator  OpType = 0x574D // "MW" in the file
	mostNames            = 8192   // inputs of a name operator, each with up to four of 65,535 parameters
	metadataParam        = "fields"
)

// nameOperators returns operators that consume the tensors, for a schema without operators.
func (d *document) nameOperators(tensors []*inputTensor) (ops []Operator) {
	var keys []string
	for _, e := range d.schema.Metadata {
		keys = append(keys, e.Key)
	}
	fields := Param{metadataParam, strings.Join(keys, " ")}
	ids := each(tensors, func(t *inputTensor) uint32 { return t.id })
	for inputs := range slices.Chunk(ids, mostNames) {
		ops = append(ops, Operator{Type: nameOperator, Inputs: inputs, Params: []Param{fields}})
	}
	return ops
}

// nameTable holds the names that a writer stored in operators.
type nameTable struct {
	names map[string]string // by id in decimal
	keys  []string          // of the schema's metadata
	only  bool              // all operators are name operators
}

// nameTable reads the names. It reports false if there are none, or if a constant has two.
func (f *parsed) nameTable() (t nameTable, ok bool) {
	ops := f.operators
	t = nameTable{names: map[string]string{}, only: len(ops) > 0}
	for i := range ops {
		op := &ops[i]
		for _, p := range op.Params {
			input, name, ok := nameParam(p.Name, p.Value)
			if !ok || input >= len(op.Inputs) || !f.isConstant(op.Inputs[input]) {
				continue
			}
			id := constantName(op.Inputs[input])
			known, ok := t.names[id]
			if ok && known != name {
				return t, false
			}
			t.names[id] = name
		}
		keys, _ := op.Param(metadataParam)
		text, ok := keys.(string)
		others := slices.ContainsFunc(op.Inputs, func(id uint32) bool { return !f.isConstant(id) })
		t.only = t.only && ok && op.Type == nameOperator && len(op.Outputs) == 0 && !others
		t.keys = strings.Fields(text)
	}
	return t, len(t.names) > 0 || t.only
}

// nameParam parses a parameter such as "input1_name".
func nameParam(param string, value any) (input int, name string, ok bool) {
	input, kind, ok := parseInputParam(param)
	name, isText := value.(string)
	return input, name, ok && kind == tensorName && isText && tensor.CheckName(name) == nil
}

// restore implements driver.Parsed. It leaves the schema unchanged if names contradict
// each other or the graph, which happens only in files of other writers.
func (f *parsed) restore(p *schema.Schema) {
	p.Metadata = slices.DeleteFunc(slices.Clone(p.Metadata), isUnset)
	t, ok := f.nameTable()
	if p.Graph == nil || !ok {
		return
	}
	rename := func(s *string) {
		name, ok := t.names[*s]
		if ok {
			*s = name
		}
	}
	before := map[string]bool{}
	after := map[string]bool{}
	eachName(p, func(s *string) {
		name := *s
		rename(&name)
		before[*s] = true
		after[name] = true
	})
	if len(before) != len(after) {
		return
	}
	for i := range p.Graph.Nodes {
		n := &p.Graph.Nodes[i]
		n.Attributes = slices.DeleteFunc(n.Attributes, func(a schema.Attribute) bool {
			input, name, ok := nameParam(a.Name, a.Value)
			return ok && input < len(n.Inputs) && t.names[n.Inputs[input]] == name
		})
	}
	eachName(p, rename)
	if t.only {
		p.Metadata = slices.DeleteFunc(p.Metadata, func(e schema.Entry) bool {
			return !slices.Contains(t.keys, e.Key)
		})
		p.Graph.Nodes = nil
		if len(p.Graph.Inputs)+len(p.Graph.Outputs) == 0 {
			p.Graph = nil
		}
	}
}

// eachName calls f with the names of the tensors of a schema and of the values of its graph.
func eachName(p *schema.Schema, f func(*string)) {
	for i := range p.Tensors {
		f(&p.Tensors[i].Name)
	}
	p.Graph.Values(f)
}
