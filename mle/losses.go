package mle

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// losses lists what a file cannot hold of a plan.
func (o *WriteOptions) losses(p *driver.Plan, l *driver.LossList) {
	if o.Quantized {
		quantizedLosses(p, l)
		p = asFloats(p)
	}
	l.AllQuantization(p, "MLE keeps no scales, but in int8 storage")
	metadataLosses(p, l)
	if p.Graph != nil && o.IR == nil {
		version := o.Version
		if version == 0 {
			version = maxVersion
		}
		g := graphLosses{p: p, l: l, b: newIRBuilder(p.Tensors, uint32(version)), sound: map[sharedList]bool{}}
		g.find()
	}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if _, known := dtypeCode(t.DType); !known && !o.Quantized {
			l.Fixed(format.LossDType, t.Name, fmt.Errorf("%w: %s has no code; float32, float16, int8 and int32 have", format.ErrUnsupported, t.TypeName()))
		}
		if err := checkShape(t); err != nil {
			l.Fixed(format.LossShape, t.Name, err)
		}
	}
}

// checkShape refuses shapes that descriptors of constants cannot express.
func checkShape(t *tensor.Info) error {
	switch {
	case t.Size == 0:
		return fmt.Errorf("%w: shape %v has no elements, and size 0 means a placeholder", format.ErrUnsupported, t.Shape)
	case len(t.Shape) > maxRank:
		return fmt.Errorf("%w: rank %d, the most is %d", format.ErrUnsupported, len(t.Shape), maxRank)
	}
	for _, d := range t.Shape {
		if d > dynamicDim {
			return fmt.Errorf("%w: dim %d does not fit in 32 bits", format.ErrUnsupported, d)
		}
	}
	return nil
}

// metadataLosses finds entries that are not JSON, or not such as readers take, and
// one with the key of the tensor names that says something else.
func metadataLosses(p *driver.Plan, l *driver.LossList) {
	l.UniqueMetadata(p, func(_ int, e driver.Entry) error {
		switch {
		case e.Key != namesKey:
			return checkMember(e.Key, e.Value)
		case !namesTensors(e.Value, p.Tensors):
			return fmt.Errorf("%w: this key is that of the names of the tensors", format.ErrUnsupported)
		}
		return nil
	})
}

// checkMember refuses what cannot be a member of a JSON object.
func checkMember(key string, value any) error {
	out, err := appendJSON([]byte{'{'}, key)
	if err == nil {
		out, err = appendJSON(append(out, ':'), value)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", format.ErrUnsupported, err)
	}
	return jsonmeta.Check(append(out, '}'), jsonmeta.Options{LoneSurrogates: true})
}

// namesTensors reports whether a value lists the names of the tensors in their
// order, perhaps with those of placeholders between, as a file that is
// written again does.
func namesTensors(v any, tensors []tensor.Info) bool {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return false
	}
	next := 0
	plain := true
	ok = jsonmeta.Elements(raw, func(elem []byte) bool {
		name, whole, isText := jsonmeta.Text(elem)
		plain = plain && whole && isText
		if next < len(tensors) && string(name) == tensors[next].Name {
			next++
		}
		return plain
	})
	return ok && plain && next == len(tensors)
}

// graphLosses compares a neutral graph with what the layout has room for.
type graphLosses struct {
	p *driver.Plan
	l *driver.LossList
	b *irBuilder

	sound map[sharedList]bool // attributes of which nothing is lost
}

func (g *graphLosses) find() {
	n := g.p.Graph
	if n.Name != "" {
		g.label("graph name")
	}
	g.l.Initializers(g.p, "the format cannot hold it")
	g.values("inputs", n.Inputs)
	g.values("outputs", n.Outputs)
	for i := range n.Nodes {
		g.node(i)
	}
}

func (g *graphLosses) label(what string) {
	g.l.Converted(format.LossLabel, what, "the format cannot hold it")
}

// values looks at inputs or outputs, first as a whole and then one by one.
func (g *graphLosses) values(what string, list []format.ValueInfo) {
	if len(list) > maxIDs {
		g.l.Graph(what, fmt.Errorf("%w: %d, there is room for %d", format.ErrLimit, len(list), maxIDs))
		return
	}
	for i := range list {
		v := &list[i]
		_, known := g.b.ids[v.Name]
		_, constant := g.b.index[v.Name]
		if _, err := g.b.values("graph "+what, list[i:i+1]); err != nil {
			g.l.Graph(fmt.Sprintf("%s[%d] (%s)", what, i, v.Name), err)
			continue
		}
		if why := unsaid(v); why != "" {
			g.l.Converted(format.LossValue, v.Name, why)
		} else if (known || constant) && contradicts(v, &g.b.ir.Tensors[g.b.ids[v.Name]]) {
			g.l.Converted(format.LossValue, v.Name, "another dtype or shape was said of this value before, or is that of its tensor")
		}
		for k, d := range v.Dims {
			if d.Symbol != "" {
				g.label(fmt.Sprintf("%s dim %d (%s)", v.Name, k, d.Symbol))
			}
		}
	}
}

// unsaid returns what a placeholder cannot say of a value, "" for nothing.
func unsaid(v *format.ValueInfo) string {
	_, known := dtypeCode(v.DType)
	switch {
	case v.DType != tensor.Invalid && !known:
		return fmt.Sprintf("%v has no code", v.DType)
	case v.DType == tensor.Invalid && v.Code != "":
		return fmt.Sprintf("the dtype code %s means nothing here", v.Code)
	case v.Dims != nil && len(v.Dims) == 0:
		return "a scalar looks like a value of unknown shape"
	case slices.ContainsFunc(v.Dims, func(d format.Dim) bool { return d.Size == dynamicDim }):
		return fmt.Sprintf("a dim of %d means one that is not fixed", uint32(dynamicDim))
	}
	return ""
}

// contradicts reports whether v says something that its descriptor does not.
func contradicts(v *format.ValueInfo, d *Descriptor) bool {
	if v.DType != tensor.Invalid && v.DType != d.DType {
		return true
	}
	return len(v.Dims) > 0 && !slices.EqualFunc(v.Dims, d.Shape, func(dim format.Dim, size int64) bool {
		return dim.Size == size || dim.Size == format.DynamicDim && size == dynamicDim
	})
}

// attributes looks at those of node i. What nodes share is looked at once, unless
// something of it is lost.
func (g *graphLosses) attributes(i int, all []format.Attribute) {
	if len(all) == 0 || g.sound[sharedList{&all[0], len(all)}] {
		return
	}
	sound := true
	for j, a := range all {
		if err := checkMember(a.Name, a.Value); err != nil {
			g.l.Attribute(g.p, i, j, err)
			sound = false
		}
	}
	g.sound[sharedList{&all[0], len(all)}] = sound
}

// node looks at the attributes of a node, and at the node without them.
func (g *graphLosses) node(i int) {
	n := g.p.Graph.Nodes[i]
	g.attributes(i, n.Attributes)
	if n.Name != "" {
		g.label(fmt.Sprintf("nodes[%d] name (%s)", i, n.Name))
	}
	if n.Domain != "" {
		g.label(fmt.Sprintf("nodes[%d] domain (%s)", i, n.Domain))
	}
	n.Attributes = nil
	out, err := g.b.node(fmt.Sprintf("node %d", i), &n)
	if _, ok := out.Op.code(g.b.version); err == nil && !ok {
		err = fmt.Errorf("%w: version %d has no code for operator %v", format.ErrUnsupported, g.b.version, out.Op)
	}
	if err != nil {
		g.l.Graph(fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err)
	}
}
