package mobi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/tensor"
)

// The format has no tensor names. With WriteOptions.KeepNames they become parameters
// of the first operator that consumes the constant. For a plan without operators,
// the writer adds operators of type nameOperator, which hold the names, the
// quantization, and the keys of the plan's metadata. See the package documentation.
const (
	nameOperator  OpType = 0x574D // "MW" in the file
	mostNames            = 8192   // inputs of a name operator: each takes up to four of 65,535 parameters
	metadataParam        = "fields"
	suffixName           = "_name"
)

// addNames adds the names of a plan's tensors to operators, which it may modify.
// lost has the plan indices of tensors whose names no operator can hold.
func addNames(ops []Operator, p *plan.Plan, ids []uint32) (_ []Operator, lost map[int]bool) {
	lost = map[int]bool{}
	if len(ops) == 0 {
		ops = nameOperators(p, ids)
	}
	byID := make(map[uint32]int, len(ids))
	for i, id := range ids {
		if p.Tensors[i].Name != constantName(id) {
			lost[i], byID[id] = true, i
		}
	}
	for k := range ops {
		op := &ops[k]
		for input, id := range op.Inputs[:min(len(op.Inputs), mostNames)] {
			param := "input" + strconv.Itoa(input) + suffixName
			i, ok := byID[id]
			if _, taken := op.Param(param); ok && lost[i] && !taken {
				op.Params = append(op.Params, Param{Name: param, Value: p.Tensors[i].Name})
				delete(lost, i)
			}
		}
	}
	return ops, lost
}

// nameOperators returns the name operators, without names, for a plan without operators.
func nameOperators(p *plan.Plan, ids []uint32) (ops []Operator) {
	var keys []string
	for _, e := range p.Metadata {
		if new(modelInfo).set(e) == nil {
			keys = append(keys, e.Key)
		}
	}
	for i, id := range ids {
		t := &p.Tensors[i]
		if t.Name == constantName(id) && t.Quant == nil {
			continue
		}
		if n := len(ops); n == 0 || len(ops[n-1].Inputs) == mostNames {
			ops = append(ops, Operator{Type: nameOperator, Params: []Param{{Name: metadataParam, Value: strings.Join(keys, " ")}}})
		}
		op := &ops[len(ops)-1]
		op.Inputs = append(op.Inputs, id)
	}
	return ops
}

// nameTable holds the names that addNames stored in a file.
type nameTable struct {
	names map[string]string // by id in decimal
	keys  []string          // of the plan's metadata
	only  bool              // all operators are name operators
}

// nameTable reads the names. It reports false if a constant has two names.
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
			if known, ok := t.names[id]; ok && known != name {
				return t, false
			}
			t.names[id] = name
		}
		keys, ok := op.Param(metadataParam)
		text, isText := keys.(string)
		others := slices.ContainsFunc(op.Inputs, func(id uint32) bool { return !f.isConstant(id) })
		t.only = t.only && ok && isText && op.Type == nameOperator && len(op.Outputs) == 0 && !others
		t.keys = strings.Fields(text)
	}
	return t, true
}

// nameParam parses a parameter such as "input1_name".
func nameParam(param string, value any) (input int, name string, ok bool) {
	input, suffix, ok := inputParam(param)
	name, isText := value.(string)
	return input, name, ok && suffix == suffixName && isText && tensor.CheckName(name) == nil
}

func (t *nameTable) rename(s string) string {
	if name, ok := t.names[s]; ok {
		return name
	}
	return s
}

// restore implements driver.Parsed. It leaves the plan unchanged if names contradict
// each other or the graph, which happens only in files of other writers.
func (f *parsed) restore(p *plan.Plan) {
	t, ok := f.nameTable()
	if p.Graph == nil || !ok || len(t.names) == 0 && !t.only || !t.fits(p) {
		return
	}
	for i := range p.Graph.Nodes {
		n := &p.Graph.Nodes[i]
		n.Attributes = slices.DeleteFunc(n.Attributes, func(a plan.Attribute) bool {
			input, name, ok := nameParam(a.Name, a.Value)
			return ok && input < len(n.Inputs) && t.names[n.Inputs[input]] == name
		})
	}
	eachName(p, func(s *string) { *s = t.rename(*s) })
	if t.only {
		p.Metadata = slices.DeleteFunc(p.Metadata, func(e plan.Entry) bool { return !slices.Contains(t.keys, e.Key) })
		p.Graph.Nodes = nil
		if len(p.Graph.Inputs)+len(p.Graph.Outputs) == 0 {
			p.Graph = nil
		}
	}
}

// fits reports whether all names would be unique after renaming.
func (t *nameTable) fits(p *plan.Plan) bool {
	owners := map[string]string{} // current names, by new name
	fits := true
	eachName(p, func(s *string) {
		name := t.rename(*s)
		if owner, ok := owners[name]; ok && owner != *s {
			fits = false
		}
		owners[name] = *s
	})
	return fits
}

// eachName calls f with the names of the tensors of a plan and of the values of its graph.
func eachName(p *plan.Plan, f func(*string)) {
	for i := range p.Tensors {
		f(&p.Tensors[i].Name)
	}
	for _, values := range [][]plan.ValueInfo{p.Graph.Inputs, p.Graph.Outputs} {
		for i := range values {
			f(&values[i].Name)
		}
	}
	for _, n := range p.Graph.Nodes {
		for _, names := range [][]string{n.Inputs, n.Outputs} {
			for i := range names {
				f(&names[i])
			}
		}
	}
}
