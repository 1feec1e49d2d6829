package mle

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// graphBuilder numbers the values of a schema's graph in the order of exporters, so that
// ids survive a copy: inputs of the graph, then inputs, params and outputs of each node.
// Tensors keep the schema's order: numbering one also numbers those before it. What the
// layout cannot hold becomes a loss.
type graphBuilder struct {
	ir        *IR
	p         *schema.Schema
	version   uint32
	losses    *schema.LossList
	tensors   map[string]int // indices in the schema, by name
	next      int            // the first tensor without a number
	ids       map[string]uint32
	part      func() string   // the name of what is being numbered; nil after a loss
	described map[uint32]bool // placeholders whose dtype and shape are known
	objects   map[shared[schema.Attribute]]json.RawMessage
}

// buildIR returns the graph of a schema as an IR and adds its losses to l.
func buildIR(p *schema.Schema, version int, l *schema.LossList) *IR {
	b := graphBuilder{ir: &IR{}, p: p, version: uint32(version), losses: l}
	if p.Graph != nil {
		b.tensors = make(map[string]int, len(p.Tensors))
		b.ids = make(map[string]uint32, len(p.Tensors))
		b.described = map[uint32]bool{}
		b.objects = map[shared[schema.Attribute]]json.RawMessage{}
		for i := range p.Tensors {
			b.tensors[p.Tensors[i].Name] = i
		}
		b.graph(p.Graph)
	}
	b.ir.Tensors = slices.Grow(b.ir.Tensors, len(p.Tensors)-b.next)
	b.constants(len(p.Tensors))
	return b.ir
}

func (b *graphBuilder) add(d Descriptor) uint32 {
	id := uint32(len(b.ir.Tensors))
	if b.ids != nil {
		b.ids[d.Name] = id
	}
	b.ir.Tensors = append(b.ir.Tensors, d)
	return id
}

// constants numbers the first n tensors of the schema that have no number yet.
func (b *graphBuilder) constants(n int) {
	for ; b.next < n; b.next++ {
		t := &b.p.Tensors[b.next]
		code, _ := dtypeCode(t.DType)
		b.add(Descriptor{Name: t.Name, DType: t.DType, Code: code, Shape: t.Shape, Size: t.Size})
	}
}

// id returns the number of a value. A new value becomes a placeholder of unknown dtype
// and shape.
func (b *graphBuilder) id(name string) uint32 {
	i, isTensor := b.tensors[name]
	if isTensor {
		b.constants(i + 1)
	}
	id, known := b.ids[name]
	if known {
		return id
	}
	err := tensor.CheckName(name)
	if err != nil {
		b.lose(fmt.Errorf("value %q: %w", name, err))
	}
	return b.add(Descriptor{Name: name, Code: unknownDType})
}

// lose adds the loss of the graph because of the current part, with its first error.
func (b *graphBuilder) lose(err error) {
	if b.part != nil {
		b.losses.Graph(b.part(), err)
		b.part = nil
	}
}

// list numbers values, up to maxIDs.
func (b *graphBuilder) list(what string, names []string) []uint32 {
	if len(names) > maxIDs {
		b.lose(tooMany(len(names), what))
		return nil
	}
	ids := make([]uint32, len(names))
	for i, name := range names {
		ids[i] = b.id(name)
	}
	return ids
}

func (b *graphBuilder) graph(g *schema.Graph) {
	if g.Name != "" {
		b.label("graph name")
	}
	b.losses.Initializers(b.p, "MLE cannot store it")
	b.ir.Inputs = b.values("inputs", g.Inputs)
	for i := range g.Nodes {
		b.ir.Nodes = append(b.ir.Nodes, b.node(i, &g.Nodes[i]))
	}
	b.ir.Outputs = b.values("outputs", g.Outputs)
}

func (b *graphBuilder) label(what string) {
	b.losses.Converted(schema.LossLabel, what, "MLE cannot store it")
}

// values numbers the inputs or outputs of the graph.
func (b *graphBuilder) values(what string, list []schema.ValueInfo) (ids []uint32) {
	if len(list) > maxIDs {
		b.losses.Graph(what, tooMany(len(list), what))
		return nil
	}
	for i := range list {
		v := &list[i]
		b.part = func() string { return fmt.Sprintf("%s[%d] (%s)", what, i, v.Name) }
		id := b.id(v.Name)
		b.describe(id, v)
		ids = append(ids, id)
	}
	return ids
}

func tooMany(n int, what string) error {
	return fmt.Errorf("%w: %d %s, there is room for %d", format.ErrLimit, n, what, maxIDs)
}

// describe sets the dtype and shape of a placeholder, unless it has them.
func (b *graphBuilder) describe(id uint32, v *schema.ValueInfo) {
	var shape tensor.Shape
	for k, dim := range v.Dims {
		if dim.Symbol != "" {
			b.label(fmt.Sprintf("%s dim %d (%s)", v.Name, k, dim.Symbol))
		}
		if dim.Symbol != "" || dim.Size == schema.DynamicDim {
			dim.Size = dynamicDim
		}
		shape = append(shape, dim.Size)
	}
	err := fits(shape)
	if err != nil {
		b.lose(err)
		return
	}
	d := &b.ir.Tensors[id]
	if !d.Constant() && !b.described[id] {
		d.DType = v.DType
		d.Shape = shape
		b.described[id] = true
		d.Code, _ = dtypeCode(v.DType)
	}
	if d.holds(v, shape) {
		return
	}
	b.losses.Converted(schema.LossValue, v.Name, "MLE cannot store its dtype or shape, "+
		"or they differ from those of its tensor or of an earlier description")
}

// holds reports whether a descriptor says the same as a value of the graph, whose dims are shape.
func (d *Descriptor) holds(v *schema.ValueInfo, shape tensor.Shape) bool {
	switch {
	case v.DType != tensor.Invalid && v.DType != dtypes[d.Code]:
		return false
	case v.DType == tensor.Invalid && v.Code != "":
		return false
	case v.Dims != nil && len(v.Dims) == 0: // looks like an unknown shape
		return false
	case len(shape) > 0 && !shape.Equal(d.Shape):
		return false
	}
	return !slices.ContainsFunc(v.Dims, func(dim schema.Dim) bool { return dim.Size == dynamicDim })
}

// node numbers the values of node i.
func (b *graphBuilder) node(i int, n *schema.Node) IRNode {
	out := IRNode{Attributes: b.object(i, n.Attributes)}
	if n.Name != "" {
		b.label(fmt.Sprintf("nodes[%d] name (%s)", i, n.Name))
	}
	if n.Domain != "" {
		b.label(fmt.Sprintf("nodes[%d] domain (%s)", i, n.Domain))
	}
	b.part = func() string { return fmt.Sprintf("nodes[%d] (%s)", i, n.Op) }
	op, ok := opOf(n.Op, b.version)
	if !ok {
		b.lose(fmt.Errorf("%w: operator %q has no code in version %d", format.ErrUnsupported, n.Op,
			b.version))
	}
	params := b.firstParam(op, n.Inputs)
	out.Op = op
	out.Inputs = b.list("inputs", n.Inputs[:params])
	out.Params = b.list("params", n.Inputs[params:])
	out.Outputs = b.list("outputs", n.Outputs)
	return out
}

// firstParam returns the index of the first param among the inputs of a node: the params
// are the trailing constants that are not graph inputs. Readers see params after inputs,
// so the order does not change. Some operators have no params.
func (b *graphBuilder) firstParam(op Op, inputs []string) int {
	first := len(inputs)
	for ; first > 0 && !op.operandsOnly(); first-- {
		_, constant := b.tensors[inputs[first-1]]
		id, known := b.ids[inputs[first-1]]
		if !constant || known && slices.Contains(b.ir.Inputs, id) {
			break
		}
	}
	return first
}

// object returns the encoded attributes of node i. Shared attributes are encoded once,
// unless they have losses.
func (b *graphBuilder) object(i int, attributes []schema.Attribute) json.RawMessage {
	if len(attributes) == 0 {
		return nil
	}
	of := sharedKey(attributes)
	object, ok := b.objects[of]
	if ok {
		return object
	}
	m := make(schema.Metadata, len(attributes))
	for j, a := range attributes {
		m[j] = schema.Entry{Key: a.Name, Value: a.Value}
	}
	object, err := jsonmeta.Marshal(m, jsonOptions)
	if err != nil {
		b.loseAttributes(i, m)
		return nil
	}
	b.objects[of] = object
	return object
}

// loseAttributes adds the losses of the attributes m of node i.
func (b *graphBuilder) loseAttributes(i int, m schema.Metadata) {
	keys := make(map[string]bool, len(m))
	for j, e := range m {
		_, err := jsonmeta.Marshal(m[j:j+1], jsonOptions)
		if keys[e.Key] {
			err = fmt.Errorf("%w: the key occurs twice", format.ErrCorrupt)
		}
		if err != nil {
			b.losses.Attribute(b.p, i, j, err)
		}
		keys[e.Key] = true
	}
}

// checkIR checks that the caller's graph matches the schema and fits the layout.
func checkIR(ir *IR, p *schema.Schema, version uint32) error {
	err := checkDescriptors(ir, p.Tensors)
	if err != nil {
		return err
	}
	most := max(len(ir.Inputs), len(ir.Outputs))
	for i := range ir.Nodes {
		n := &ir.Nodes[i]
		most = max(most, len(n.Inputs), len(n.Outputs), len(n.Params))
		_, ok := n.Op.code(version)
		if !ok {
			return refuse(fmt.Sprintf("node %d", i), format.ErrUnsupported,
				"version %d has no code for operator %v", version, n.Op)
		}
	}
	if most > maxIDs {
		return refuse("IR", tooMany(most, "ids"), "in one list")
	}
	return nil
}

// checkDescriptors checks that the constants among the descriptors are the tensors of the schema.
func checkDescriptors(ir *IR, tensors []tensor.Info) error {
	names := map[string]bool{}
	for i := range ir.Tensors {
		d := &ir.Tensors[i]
		err := tensor.CheckName(d.Name)
		if err != nil {
			return refuse("IR", err, "tensor %d (%q)", i, d.Name)
		}
		err = fits(d.Shape)
		if err != nil {
			return refuse("IR", err, "tensor %d (%q)", i, d.Name)
		}
		if names[d.Name] {
			return refuse("IR", format.ErrCorrupt, "tensor %q occurs twice", d.Name)
		}
		names[d.Name] = true
		if !d.Constant() {
			continue
		}
		if len(tensors) == 0 || !d.describes(&tensors[0]) {
			return refuse("IR", format.ErrCorrupt, "constant %q is not the schema's next tensor", d.Name)
		}
		tensors = tensors[1:]
	}
	if len(tensors) > 0 {
		return refuse("IR", format.ErrCorrupt, "it lacks tensor %q of the schema", tensors[0].Name)
	}
	return nil
}

// describes reports whether a constant has name, type and shape of a tensor.
func (d *Descriptor) describes(t *tensor.Info) bool {
	return d.Name == t.Name && d.DType == t.DType && t.Shape.Equal(d.Shape) && d.Size == t.Size
}

// encodeGraph returns the graph section. offsets has the offsets of the constants.
func encodeGraph(ir *IR, version uint32, offsets []int64) ([]byte, error) {
	attrs, at, err := joinAttributes(ir)
	if err != nil {
		return nil, err
	}
	size := graphHead + len(ir.Tensors)*descriptorSize + len(ir.Nodes)*nodeSize + len(attrs)
	w := make(wire.Buffer, 0, size)
	w.U32(uint32(len(ir.Nodes)))   // num_nodes
	w.U32(uint32(len(ir.Tensors))) // num_tensors
	w.U32(uint32(len(ir.Inputs)))  // num_inputs
	w.U32(uint32(len(ir.Outputs))) // num_outputs
	putRow(&w, ir.Inputs, maxIDs)  // input_ids
	putRow(&w, ir.Outputs, maxIDs) // output_ids
	for i := range ir.Tensors {
		d := ir.Tensors[i]
		if d.Constant() {
			d.Offset = uint64(offsets[0])
			d.Code, _ = dtypeCode(d.DType)
			offsets = offsets[1:]
		}
		putDescriptor(&w, &d)
	}
	for i := range ir.Nodes {
		n := &ir.Nodes[i]
		code, _ := n.Op.code(version)
		putNode(&w, n, code, at[i])
	}
	w.Raw(attrs)
	return w, nil
}

// putDescriptor appends what readDescriptor reads.
func putDescriptor(w *wire.Buffer, d *Descriptor) {
	w.U64(d.Offset)
	w.I64(d.Size)
	w.U32(uint32(len(d.Shape))) // ndim
	putRow(w, d.Shape, maxRank)
	w.U8(d.Code) // dtype
	w.Zeros(3)   // reserved
}

// putNode appends what readNode reads.
func putNode(w *wire.Buffer, n *IRNode, op uint16, attrOffset uint32) {
	w.U16(op)
	w.U16(uint16(len(n.Inputs)))  // num_inputs
	w.U16(uint16(len(n.Outputs))) // num_outputs
	w.U16(uint16(len(n.Params)))  // num_params
	putRow(w, n.Inputs, maxIDs)   // input_ids
	putRow(w, n.Outputs, maxIDs)  // output_ids
	putRow(w, n.Params, maxIDs)   // param_ids
	w.U32(attrOffset)
	w.U32(uint32(len(n.Attributes))) // attr_size
}

// putRow appends ids or dims, padded to the number that there is room for.
func putRow[T uint32 | int64](w *wire.Buffer, list []T, room int) {
	for _, n := range list {
		w.U32(uint32(n))
	}
	w.Zeros(4 * (room - len(list)))
}

// joinAttributes concatenates the distinct attributes of all nodes and returns the offset
// of each node's attributes in the graph section.
func joinAttributes(ir *IR) (attrs []byte, at []uint32, err error) {
	base := uint64(graphHead) + uint64(len(ir.Tensors))*descriptorSize + uint64(len(ir.Nodes))*nodeSize
	offsets := map[string]uint32{}     // by text
	known := map[shared[byte]]uint32{} // by the same memory
	at = make([]uint32, len(ir.Nodes))
	for i := range ir.Nodes {
		text := ir.Nodes[i].Attributes
		if len(text) == 0 {
			continue
		}
		same := sharedKey(text)
		offset, ok := known[same]
		if ok {
			at[i] = offset
			continue
		}
		_, err := jsonmeta.Parse(text, jsonOptions)
		if err != nil {
			return nil, nil, refuse(fmt.Sprintf("node %d", i), err, "attributes")
		}
		offset, ok = offsets[string(text)]
		if !ok {
			next := base + uint64(len(attrs))
			if next+uint64(len(text)) > math.MaxUint32 {
				return nil, nil, refuse("graph", format.ErrLimit, "attributes reach beyond 4 GiB")
			}
			offset = uint32(next)
			offsets[string(text)] = offset
			attrs = append(attrs, text...)
		}
		known[same] = offset
		at[i] = offset
	}
	return attrs, at, nil
}
