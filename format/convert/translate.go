package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

const (
	// version is the version of ONNX's operators that graphs are translated to.
	version = opsets.DefaultVersion
	// oldestVersion is the first version whose operators have the same meaning, apart from the
	// differences that readONNX handles.
	oldestVersion = 7
)

// translate translates a graph to the operators of the target's format. It removes tensors that
// became attributes of nodes, and adds those for attributes that became tensors. If nodes have no
// counterpart, it records them for refuse and leaves the plan as it was.
func (j *job) translate(m *format.Model, p *schema.Schema) {
	source, err := format.ByName(m.Format())
	if err != nil || p.Graph == nil || len(p.Graph.Nodes) == 0 || m.Format() == j.format {
		return // with an error, the model's driver is not registered
	}
	t := newTranslator(p, j.plan.items, j.format)
	t.run(source.Driver(), j.driver, j.hasGraphs())
	j.plan.gaps = t.gaps
	if len(t.gaps) == 0 && len(t.nodes) > 0 {
		t.finish()
		j.plan.items = t.items
	}
}

// gap is a node without a counterpart.
type gap struct {
	part string
	err  error
}

// translator translates a graph.
type translator struct {
	schema   *schema.Schema
	graph    *schema.Graph // the source graph
	items    []*item       // all tensors, old and new
	format   string        // the target's
	from, to []driver.Operator
	version  int64 // version of the source's ONNX operators

	named map[string]*value
	nodes []schema.Node // translated nodes
	moved map[int]int   // the first translated node by that of the source
	gaps  []gap
}

// value is an input or output of nodes.
type value struct {
	shape  dims
	tensor *item  // nil if it is computed
	alias  string // the value that replaces it, after a node without effect
	uses   int    // by nodes and as an output of the graph
	last   int    // the last node that uses it
	leaves bool   // it is an output of the graph
	copies int    // last number appended to its name
}

// newTranslator returns a translator with copies of the graph and the items, which knows all their
// names.
func newTranslator(p *schema.Schema, items []*item, target string) *translator {
	t := &translator{schema: p, graph: p.Graph.Clone(), format: target,
		named: map[string]*value{}, moved: map[int]int{}}
	t.graph.Values(func(s *string) { t.at(*s) })
	for _, it := range items {
		own := *it
		t.items = append(t.items, &own)
		v := t.at(own.to.Name)
		v.tensor = &own
		v.shape = shapeOf(own.to.Shape)
	}
	return t
}

// at returns the value with that name, and takes the name.
func (t *translator) at(name string) *value {
	v := t.named[name]
	if v == nil {
		v = &value{}
		t.named[name] = v
	}
	return v
}

// gap refuses a node of the source.
func (t *translator) gap(i int, err error) {
	n := &t.schema.Graph.Nodes[i]
	if n.Name != "" {
		err = fmt.Errorf("node %q: %w", n.Name, err)
	}
	t.gaps = append(t.gaps, gap{fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err})
}

// values records how values are used, and the shapes that are known before any node runs.
func (t *translator) values() {
	for i := range t.graph.Nodes {
		for _, name := range t.graph.Nodes[i].Inputs {
			v := t.at(name)
			v.uses++
			v.last = i
		}
	}
	for _, o := range t.graph.Outputs {
		v := t.at(o.Name)
		v.uses++
		v.leaves = true
	}
	t.inputs()
	// Up to version 3, initializers had to be inputs too.
	version, _ := t.schema.Metadata.Get(opsets.KeyIRVersion)
	if ir, _ := version.(int64); t.from == nil && ir > 0 && ir <= 3 {
		t.graph.Inputs = slices.DeleteFunc(t.graph.Inputs,
			func(v schema.ValueInfo) bool { return t.at(v.Name).tensor != nil })
	}
}

// inputs records the shapes of graph inputs. Dims with the same symbol are equal.
func (t *translator) inputs() {
	symbols := map[string]int64{}
	last := int64(unknown)
	for _, v := range t.graph.Inputs {
		if v.Dims == nil || len(v.Dims) > mostDims || t.at(v.Name).shape != nil {
			continue
		}
		d := dims{}
		for _, dim := range v.Dims {
			size, known := symbols[dim.Symbol]
			switch {
			case dim.Symbol == "" && dim.Size >= 0:
				size = dim.Size
			case dim.Symbol == "" || !known:
				last--
				size = last
				symbols[dim.Symbol] = size
			}
			d = append(d, size)
		}
		t.at(v.Name).shape = d
	}
}

// run translates the nodes. hasGraphs says that files of the target have graphs. If there is
// nothing to translate, it leaves nodes and gaps empty.
func (t *translator) run(source, target driver.Driver, hasGraphs bool) {
	from, known := source.(driver.Vocabulary)
	to, ok := target.(driver.Vocabulary)
	if !ok {
		if !hasGraphs {
			return // it refuses the graph
		}
		source = target
	}
	if !ok || !known {
		for i := range t.graph.Nodes {
			t.gap(i, unsupported("the meaning of %s operators is unknown", source.Describe().Name))
		}
		return
	}
	t.from = from.Operators()
	t.to = to.Operators()
	if t.from == nil && t.to == nil {
		return
	}
	t.values()
	t.version = operatorSet(t.schema)
	for i := range t.graph.Nodes {
		in := &t.graph.Nodes[i]
		for k, name := range in.Inputs {
			other := t.at(name).alias
			if other != "" {
				in.Inputs[k] = other
			}
		}
		err := t.node(i, in)
		if err != nil {
			t.gap(i, err)
			for _, s := range in.Outputs {
				t.at(s).shape = nil
			}
		}
	}
}

// node translates node i with other inputs.
func (t *translator) node(i int, in *schema.Node) error {
	var list []*node
	var err error
	if t.from != nil {
		list, err = t.read(in)
	} else if !t.fuse(i) {
		list, err = t.readONNX(in)
	}
	if err != nil {
		return err
	}
	first := len(t.nodes)
	for _, n := range list {
		err = t.write(n)
		if err != nil {
			return err
		}
	}
	if len(t.nodes) > first {
		t.moved[i] = first
	}
	return nil
}

// hasGraphs reports whether files of the target's format have graphs.
func (j *job) hasGraphs() bool {
	o := j.target
	o.AcceptLoss = nil
	list, _ := format.Losses("", &schema.Schema{Graph: &schema.Graph{Name: "graph"}}, &o)
	return !slices.ContainsFunc(list, func(l schema.Loss) bool { return l.Kind == schema.LossGraph })
}

// leaveOwn removes the entries that ONNX needs for its graph where the target has no graph, and
// those that a conversion back writes again.
func (j *job) leaveOwn(m *format.Model, p *schema.Schema) {
	if m.Format() == j.format {
		return
	}
	keepsGraph := j.hasGraphs()
	custom := false
	p.Graph.Walk(func(g *schema.Graph) {
		for _, n := range g.Nodes {
			custom = custom || n.Domain != ""
		}
	})
	p.Metadata = slices.DeleteFunc(slices.Clone(p.Metadata), func(e schema.Entry) bool {
		own, isDefault := opsets.IsOwn(e)
		return own && (!keepsGraph || isDefault && !custom)
	})
	if p.Graph != nil && m.Format() == "onnx" && p.Graph.Name == opsets.DefaultGraphName {
		g := *p.Graph
		g.Name = ""
		p.Graph = &g
	}
}

// fuse combines a MatMul and the Add of a bias that follows, which becomes a Gemm, since few
// formats have a broadcasting Add.
func (t *translator) fuse(i int) bool {
	m := &t.graph.Nodes[i]
	if !isPlain(m, "MatMul") || t.version < oldestVersion || len(t.at(m.Inputs[0]).shape) != 2 ||
		len(t.at(m.Inputs[1]).shape) != 2 {
		return false
	}
	out := t.at(m.Outputs[0])
	if out.uses != 1 || out.last <= i {
		return false
	}
	a := &t.graph.Nodes[out.last]
	if !isPlain(a, "Add") {
		return false
	}
	bias := a.Inputs[0]
	if bias == m.Outputs[0] {
		bias = a.Inputs[1]
	}
	if b := t.at(bias); b.tensor == nil || !slices.Equal(b.shape, t.at(m.Inputs[1]).shape[1:]) {
		return false
	}
	a.Name = m.Name
	a.Op = "Gemm"
	a.Inputs = append(slices.Clone(m.Inputs), bias)
	return true
}

// isPlain reports whether a node is an operator of two inputs, without attributes.
func isPlain(n *schema.Node, op string) bool {
	return n.Op == op && n.Domain == "" && len(n.Inputs) == 2 && len(n.Outputs) == 1 &&
		len(n.Attributes) == 0
}

// finish stores the graph in the plan, and removes the tensors that became attributes.
func (t *translator) finish() {
	g := t.graph
	g.Nodes = t.nodes
	used := map[string]bool{}
	g.Values(func(s *string) { used[*s] = true })
	gone := map[string]bool{}
	t.items = slices.DeleteFunc(t.items, func(it *item) bool {
		gone[it.to.Name] = t.at(it.to.Name).uses > 0 && !used[it.to.Name]
		return gone[it.to.Name]
	})
	forget(g, gone)
	t.schema.Graph = g
	t.moveDocs()
	t.schema.Metadata = slices.DeleteFunc(slices.Clone(t.schema.Metadata), func(e schema.Entry) bool {
		return e.Key == opsets.Key || e.Key == opsets.KeyIRVersion && t.from == nil
	})
	if t.to == nil {
		sets := json.RawMessage(fmt.Sprintf(`[{"domain":"","version":%d}]`, version))
		t.schema.Metadata = append(t.schema.Metadata, schema.Entry{Key: opsets.Key, Value: sets})
	}
}

// moveDocs moves the docs of nodes to what the nodes are translated to, which has other attributes.
func (t *translator) moveDocs() {
	docs := schema.Renumber(t.schema.Docs, "graph.nodes", func(old int) int {
		i, ok := t.moved[old]
		if !ok {
			return -1
		}
		return i
	})
	t.schema.Docs = slices.DeleteFunc(docs, func(d schema.Doc) bool {
		return strings.HasPrefix(d.Path, "graph.nodes[") && strings.Contains(d.Path, "].")
	})
}

// fresh returns an unused name for a value: the name itself or one with a number appended. It tries
// each number once, so the total cost is linear.
func (t *translator) fresh(name string) string {
	out := name
	for t.named[out] != nil {
		v := t.at(name)
		v.copies++
		out = name + "_" + strconv.Itoa(v.copies+1)
	}
	t.at(out)
	return out
}

// add adds a tensor that a node uses and returns its name.
func (t *translator) add(v tensor.View, err error) (string, error) {
	if err != nil {
		return "", err
	}
	it := &item{from: v, to: v.Info()}
	added := t.at(it.to.Name)
	added.tensor = it
	added.shape = shapeOf(it.to.Shape)
	added.uses = added.uses + 1
	t.items = append(t.items, it)
	if t.graph.Initializers != nil {
		t.graph.Initializers = append(t.graph.Initializers, it.to.Name)
	}
	return it.to.Name, nil
}

// write appends a node, or several equivalent ones, to the translated graph.
func (t *translator) write(n *node) error {
	if len(n.in) > n.most || slices.Contains(n.in, "") || len(n.out) != 1 {
		return unsupported("%d inputs and %d outputs", len(n.in), len(n.out))
	}
	in := make([]dims, len(n.in))
	for i, name := range n.in {
		in[i] = t.at(name).shape
	}
	out := n.infer(n, in)
	if len(out) > mostDims {
		out = nil
	}
	t.at(n.out[0]).shape = out
	if t.to == nil {
		return t.writeONNX(n)
	}
	err := unsupported("%s has no operator for %s", t.format, n.op)
	for i := range t.to {
		if t.to[i].ONNX != n.op {
			continue
		}
		var out schema.Node
		out, err = t.express(&t.to[i], n, in)
		if err == nil {
			t.nodes = append(t.nodes, out)
			return nil
		}
	}
	others := t.instead(n, in)
	if others == nil && t.at(n.out[0]).alias == "" {
		return err
	}
	for _, other := range others {
		if inner := t.write(other); inner != nil {
			return fmt.Errorf("%w (nor as %s: %w)", err, other.op, inner)
		}
	}
	return nil
}

// instead returns nodes equivalent to one that the target lacks, or nil. It leaves out a node that
// has no effect.
func (t *translator) instead(n *node, in []dims) []*node {
	transpose := func(k int) *node {
		out := t.fresh(n.in[k] + "_transposed")
		first := newNode("Transpose", "", n.in[k:k+1], []string{out})
		first.attrs["perm"] = []int64{1, 0}
		n.in[k] = out
		return first
	}
	switch n.op {
	case "Gemm":
		switch {
		case n.integer("transA") != 0:
			n.attrs["transA"] = int64(0)
			return []*node{transpose(0), n}
		case n.integer("transB") == 0 && len(n.in) == 2 && n.attrs["alpha"] == float32(1):
			return []*node{newNode("MatMul", n.name, n.in, n.out)}
		case n.integer("transB") == 0:
			n.attrs["transB"] = int64(1)
			return []*node{transpose(1), n}
		}
	case "Reshape":
		if slices.Equal(n.list("shape"), []int64{0, -1}) && n.integer("allowzero") == 0 {
			return []*node{newNode("Flatten", n.name, n.in, n.out)}
		}
	case "Identity", "Dropout":
		if out := t.at(n.out[0]); !out.leaves {
			out.alias = n.in[0]
		}
	}
	return nil
}

// writeONNX writes a node unchanged.
func (t *translator) writeONNX(n *node) error {
	out := schema.Node{Name: n.name, Op: n.op, Inputs: n.in, Outputs: n.out}
	if shape := n.list("shape"); shape != nil {
		name, err := t.add(tensor.Of(t.fresh(n.out[0]+"_shape"), tensor.Shape{int64(len(shape))}, shape))
		if err != nil {
			return err
		}
		out.Inputs = append(slices.Clone(n.in), name)
		delete(n.attrs, "shape")
	}
	for _, name := range slices.Sorted(maps.Keys(n.attrs)) {
		if !isDefault(n.attrs[name], n.defaults[name]) {
			out.Attributes = append(out.Attributes, schema.Attribute{Name: name, Value: n.attrs[name]})
		}
	}
	t.nodes = append(t.nodes, out)
	return nil
}

// refuse reports nodes without a counterpart as a loss of the graph.
func (j *job) refuse() error {
	if len(j.plan.gaps) == 0 {
		return nil
	}
	graph := &schema.Schema{Graph: j.plan.schema.Graph}
	_, err := schema.Fit(j.format, graph, j.target.AcceptLoss,
		func(p *schema.Schema, l *schema.LossList) error {
			for _, g := range j.plan.gaps {
				if p.Graph != nil {
					l.Graph(g.part, g.err)
				}
			}
			return nil
		})
	var refused *schema.LossError
	if errors.As(err, &refused) { // names what else the target lacks
		bare := *j.plan.schema
		bare.Graph = nil
		others, _ := format.Losses(j.path, &bare, &j.target)
		refused.Losses = append(refused.Losses, others...)
	}
	for _, l := range lossesIn(err) {
		if l.Kind == schema.LossGraph && !j.accept(l) {
			return wire.Place(err, "", j.path, "")
		}
	}
	j.plan.schema.Graph = nil
	return nil
}
