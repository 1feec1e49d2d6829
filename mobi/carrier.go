package mobi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// The format has no names of tensors, and keeps quantization with the operators that
// consume a constant. A writer that is told to keep names gives them to those operators
// too, as parameters that a runtime looks past. Where there are no operators,
// and so nothing to run, it adds some of a type of our own, which consume constants and
// make nothing: they carry the names, and the quantization.
const (
	carrierType   OpType = 0x574D // "MW" in the file
	carrierInputs        = 8192   // of one operator; each takes up to four of 65,535 parameters
	carrierFields        = "fields"
	nameSuffix           = "_name"
)

func nameParam(input int) string { return "input" + strconv.Itoa(input) + nameSuffix }

// keepNames adds to operators, which are the caller's to change, what readers need to
// find names again. lost are the plan indices of those that no operator takes.
func keepNames(ops []Operator, p *driver.Plan, ids []uint32) (_ []Operator, lost map[int]bool) {
	if len(ops) == 0 {
		return carriers(p, ids), nil
	}
	lost = map[int]bool{}
	byID := make(map[uint32]int, len(ids))
	for i, id := range ids {
		if p.Tensors[i].Name != constantName(id) {
			lost[i], byID[id] = true, i
		}
	}
	for k := range ops {
		op := &ops[k]
		for input, id := range op.Inputs {
			i, ok := byID[id]
			if _, taken := op.Param(nameParam(input)); ok && lost[i] && !taken && input < carrierInputs {
				op.Params = append(op.Params, Param{nameParam(input), p.Tensors[i].Name})
				delete(lost, i)
			}
		}
	}
	return ops, lost
}

// carriers returns operators that carry what no other does.
func carriers(p *driver.Plan, ids []uint32) (ops []Operator) {
	var given []string
	for _, e := range p.Metadata {
		if new(document).entry(e, &modelInfo{}) == nil {
			given = append(given, e.Key)
		}
	}
	for i, id := range ids {
		t := &p.Tensors[i]
		named := t.Name != constantName(id)
		if !named && t.Quant == nil {
			continue
		}
		if n := len(ops); n == 0 || len(ops[n-1].Inputs) == carrierInputs {
			ops = append(ops, Operator{Type: carrierType, Params: []Param{{carrierFields, strings.Join(given, " ")}}})
		}
		op := &ops[len(ops)-1]
		if named {
			op.Params = append(op.Params, Param{nameParam(len(op.Inputs)), t.Name})
		}
		op.Inputs = append(op.Inputs, id)
	}
	return ops
}

// carried is what operators say that keepNames added to.
type carried struct {
	names  map[string]string // by id in decimal
	fields []string          // of the metadata, those that the writer was given
	alone  bool              // all operators are carriers
	bad    bool              // one constant has two names
}

// carried finds that.
func (f *parsed) carried() carried {
	ops := f.decodeOperators()
	c := carried{names: map[string]string{}, alone: len(ops) > 0}
	for i := range ops {
		op := &ops[i]
		for _, p := range op.Params {
			if input, name, ok := keptName(p.Name, p.Value); ok && input < len(op.Inputs) {
				if _, ok := f.lookup(op.Inputs[input]); ok {
					c.add(op.Inputs[input], name)
				}
			}
		}
		fields, ok := f.carrier(op)
		c.alone, c.fields = c.alone && ok, fields
	}
	return c
}

// carrier reports whether an operator carries things and does nothing.
func (f *parsed) carrier(op *Operator) (fields []string, ok bool) {
	if op.Type != carrierType || len(op.Outputs) > 0 {
		return nil, false
	}
	for _, id := range op.Inputs {
		if _, ok := f.lookup(id); !ok {
			return nil, false
		}
	}
	v, _ := op.Param(carrierFields)
	text, ok := v.(string)
	return strings.Fields(text), ok
}

func (c *carried) add(id uint32, name string) {
	key := constantName(id)
	if was, ok := c.names[key]; ok && was != name {
		c.bad = true
	}
	c.names[key] = name
}

// keptName takes a parameter like "input1_name" apart.
func keptName(param string, value any) (input int, name string, ok bool) {
	number, ok := strings.CutPrefix(param, "input")
	if ok {
		number, ok = strings.CutSuffix(number, nameSuffix)
	}
	n, err := strconv.ParseUint(number, 10, 16)
	name, isText := value.(string)
	return int(n), name, ok && err == nil && isText && tensor.CheckName(name) == nil
}

// Restore implements driver.Parsed. Names that contradict each other or the graph,
// which only a file of somebody else can have, stay where they are.
func (f *parsed) Restore(p *driver.Plan) {
	c := f.carried()
	if p.Graph == nil || c.bad || len(c.names) == 0 && !c.alone || !c.fits(p) {
		return
	}
	for i := range p.Tensors {
		if s, ok := c.names[p.Tensors[i].Name]; ok {
			p.Tensors[i].Name = s
		}
	}
	if c.alone {
		p.Metadata = slices.DeleteFunc(p.Metadata, func(e driver.Entry) bool { return !slices.Contains(c.fields, e.Key) })
		p.Graph.Nodes = nil
		if len(p.Graph.Inputs)+len(p.Graph.Outputs) == 0 {
			p.Graph = nil
		}
		return
	}
	for i := range p.Graph.Nodes {
		n := &p.Graph.Nodes[i]
		n.Attributes = slices.DeleteFunc(n.Attributes, func(a driver.Attribute) bool {
			input, name, ok := keptName(a.Name, a.Value)
			return ok && input < len(n.Inputs) && c.names[n.Inputs[input]] == name
		})
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for k, s := range list {
				if name, ok := c.names[s]; ok {
					list[k] = name
				}
			}
		}
	}
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
