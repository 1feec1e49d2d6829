package mobi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// The format has no names of tensors, and keeps quantization with the operators that
// consume a constant. A writer that is told to keep names adds operators of a type of
// our own, which consume constants and make nothing: their parameters carry
// the names, and the quantization of constants that nothing else consumes.
const (
	carrierType   OpType = 0x574D // "MW" in the file
	carrierInputs        = 8192   // of one operator; each takes up to four of 65,535 parameters
	carrierFields        = "fields"
	nameSuffix           = "_name"
)

// addCarriers adds the operators that carry what no other does.
func addCarriers(ops []Operator, p *driver.Plan, ids []uint32) []Operator {
	var given []string
	for _, e := range p.Metadata {
		if new(document).entry(e, &modelInfo{}) == nil {
			given = append(given, e.Key)
		}
	}
	found := usersOf(p.Tensors, ids, ops)
	ops = slices.Clip(ops)
	first := len(ops)
	for i, id := range ids {
		t := &p.Tensors[i]
		named := t.Name != constantName(id)
		if !named && (t.Quant == nil || found[id].consumed) {
			continue
		}
		last := len(ops) - 1
		if last < first || len(ops[last].Inputs) == carrierInputs {
			ops = append(ops, Operator{Type: carrierType, Params: []Param{{carrierFields, strings.Join(given, " ")}}})
			last++
		}
		op := &ops[last]
		if named {
			op.Params = append(op.Params, Param{"input" + strconv.Itoa(len(op.Inputs)) + nameSuffix, t.Name})
		}
		op.Inputs = append(op.Inputs, id)
	}
	return ops
}

// carried is what the operators say that addCarriers added.
type carried struct {
	names  map[string]string // by id in decimal
	fields []string          // of the metadata, those that the writer was given
	ops    map[int]bool
}

// carried finds those operators.
func (f *parsed) carried() carried {
	c := carried{names: map[string]string{}, ops: map[int]bool{}}
	for i, op := range f.decodeOperators() {
		isConstant := func(id uint32) bool { _, ok := f.lookup(id); return ok }
		if op.Type != carrierType || len(op.Outputs) > 0 || slices.ContainsFunc(op.Inputs, func(id uint32) bool { return !isConstant(id) }) {
			continue
		}
		fields, ok := op.Param(carrierFields)
		if text, isText := fields.(string); ok && isText {
			c.ops[i], c.fields = true, strings.Fields(text)
			c.add(&op)
		}
	}
	return c
}

// add takes the names that an operator carries.
func (c *carried) add(op *Operator) {
	for _, p := range op.Params {
		input, ok := strings.CutSuffix(strings.TrimPrefix(p.Name, "input"), nameSuffix)
		n, err := strconv.Atoi(input)
		name, isText := p.Value.(string)
		if ok && err == nil && n >= 0 && n < len(op.Inputs) && isText && tensor.CheckName(name) == nil {
			c.names[constantName(op.Inputs[n])] = name
		}
	}
}

// Restore implements driver.Restorer. Names that contradict each other or the graph,
// which only a file of somebody else can have, stay where they are.
func (f *parsed) Restore(p *driver.Plan) {
	c := f.carried()
	if len(c.ops) == 0 || p.Graph == nil || !c.fits(p) {
		return
	}
	for i := range p.Tensors {
		if s, ok := c.names[p.Tensors[i].Name]; ok {
			p.Tensors[i].Name = s
		}
	}
	g, nodes := p.Graph, p.Graph.Nodes
	g.Nodes = nil
	for i, n := range nodes {
		if c.ops[i] {
			continue
		}
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for k, s := range list {
				if name, ok := c.names[s]; ok {
					list[k] = name
				}
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	if len(g.Nodes)+len(g.Inputs)+len(g.Outputs) == 0 {
		p.Graph = nil
	}
	p.Metadata = slices.DeleteFunc(p.Metadata, func(e driver.Entry) bool { return !slices.Contains(c.fields, e.Key) })
}

// fits reports whether every name would be that of one thing.
func (c *carried) fits(p *driver.Plan) bool {
	taken := map[string]bool{}
	for _, t := range p.Tensors {
		name := t.Name
		if s, ok := c.names[name]; ok {
			name = s
		}
		if taken[name] {
			return false
		}
		taken[name] = true
	}
	tensors := map[string]bool{}
	for _, t := range p.Tensors {
		tensors[t.Name] = true
	}
	free := func(s string) bool { return tensors[s] || !taken[s] }
	for _, v := range slices.Concat(p.Graph.Inputs, p.Graph.Outputs) {
		if !free(v.Name) {
			return false
		}
	}
	for _, n := range p.Graph.Nodes {
		if slices.ContainsFunc(slices.Concat(n.Inputs, n.Outputs), func(s string) bool { return !free(s) }) {
			return false
		}
	}
	return true
}
