package mle

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// ir returns the graph to write: the caller's, or one made of the plan.
func (e *encoder) ir() (*IR, error) {
	if e.o.IR != nil {
		return e.o.IR, checkIR(e.o.IR, e.plan)
	}
	if e.plan.Graph == nil {
		return constantsOnly(e.plan.Tensors), nil
	}
	b := newIRBuilder(e.plan.Tensors, uint32(e.o.Version))
	if err := b.graph(e.plan.Graph); err != nil {
		return nil, err
	}
	b.constants(len(e.plan.Tensors))
	return b.ir, nil
}

// checkIR compares the caller's graph with the plan and the layout.
func checkIR(ir *IR, p *driver.Plan) error {
	next := 0
	for i := range ir.Tensors {
		d := &ir.Tensors[i]
		if err := tensor.CheckName(d.Name); err != nil {
			return refuse("IR", err, "tensor %d", i)
		}
		if len(d.Shape) > maxRank {
			return refuse("IR", format.ErrUnsupported, "tensor %q has rank %d", d.Name, len(d.Shape))
		}
		for _, size := range d.Shape {
			if size < 0 || size > math.MaxUint32 {
				return refuse("IR", format.ErrUnsupported, "tensor %q: dim %d does not fit in 32 bits", d.Name, size)
			}
		}
		if !d.Constant() {
			continue
		}
		if next == len(p.Tensors) || p.Tensors[next].Name != d.Name || p.Tensors[next].DType != d.DType ||
			!p.Tensors[next].Shape.Equal(d.Shape) || p.Tensors[next].Size != d.Size {
			return refuse("IR", format.ErrCorrupt, "constant %q is not the plan's next tensor", d.Name)
		}
		next++
	}
	if next < len(p.Tensors) {
		return refuse("IR", format.ErrCorrupt, "it lacks tensor %q of the plan", p.Tensors[next].Name)
	}
	name := func(i int) []byte { return []byte(ir.Tensors[i].Name) }
	if i, twice := repeated(len(ir.Tensors), name); twice {
		return refuse("IR", format.ErrCorrupt, "tensor %q occurs twice", ir.Tensors[i].Name)
	}
	lists := [][]uint32{ir.Inputs, ir.Outputs}
	for i := range ir.Nodes {
		lists = append(lists, ir.Nodes[i].Inputs, ir.Nodes[i].Outputs, ir.Nodes[i].Params)
	}
	for _, ids := range lists {
		if len(ids) > maxIDs {
			return refuse("IR", format.ErrLimit, "a list of %d ids, there is room for %d", len(ids), maxIDs)
		}
	}
	return nil
}

// encodeGraph writes the graph section. offsets are those of the constants.
func encodeGraph(ir *IR, version uint32, offsets []int64) ([]byte, error) {
	var w wire.Buffer
	attrs, at, err := joinAttributes(ir)
	if err != nil {
		return nil, err
	}
	if int64(len(ir.Tensors)) > math.MaxUint32 || int64(len(ir.Nodes)) > math.MaxUint32 {
		return nil, refuse("graph", format.ErrLimit, "%d tensors and %d nodes are more than can be counted", len(ir.Tensors), len(ir.Nodes))
	}
	w.Grow(graphHead + len(ir.Tensors)*descriptorSize + len(ir.Nodes)*nodeSize + len(attrs))
	for _, n := range []int{len(ir.Nodes), len(ir.Tensors), len(ir.Inputs), len(ir.Outputs)} {
		w.U32(uint32(n))
	}
	putIDs(&w, ir.Inputs, ir.Outputs)
	for i := range ir.Tensors {
		d := &ir.Tensors[i]
		offset, code := d.Offset, d.Code
		if d.Constant() {
			offset, offsets = uint64(offsets[0]), offsets[1:]
			code, _ = dtypeCode(d.DType)
		}
		putDescriptor(&w, d, offset, code)
	}
	for i := range ir.Nodes {
		n := &ir.Nodes[i]
		code, ok := n.Op.code(version)
		if !ok {
			return nil, refuse(fmt.Sprintf("node %d", i), format.ErrUnsupported, "version %d has no code for operator %v", version, n.Op)
		}
		w.U16(code)
		w.U16(uint16(len(n.Inputs)))
		w.U16(uint16(len(n.Outputs)))
		w.U16(uint16(len(n.Params)))
		putIDs(&w, n.Inputs, n.Outputs, n.Params)
		w.U32(at[i])
		w.U32(uint32(len(n.Attributes)))
	}
	w.Raw(attrs)
	return w.Bytes(), nil
}

// putDescriptor writes a descriptor, whose room for dims is what they leave zero.
func putDescriptor(w *wire.Buffer, d *Descriptor, offset uint64, code uint8) {
	var b [descriptorSize]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], offset)
	le.PutUint64(b[8:], uint64(d.Size))
	le.PutUint32(b[16:], uint32(len(d.Shape)))
	for i, size := range d.Shape {
		le.PutUint32(b[20+4*i:], uint32(size))
	}
	b[descriptorSize-4] = code
	w.Raw(b[:])
}

// putIDs writes lists of up to 16 ids in the room for 16 each.
func putIDs(w *wire.Buffer, lists ...[]uint32) {
	for _, ids := range lists {
		for _, id := range ids {
			w.U32(id)
		}
		w.Fill(4*(maxIDs-len(ids)), 0)
	}
}

// sharedText is where a JSON object is in memory.
type sharedText struct {
	first *byte
	size  int
}

// joinAttributes joins the attributes of all nodes, equal ones once, and
// returns where those of each node begin in the graph section.
func joinAttributes(ir *IR) (attrs []byte, at []uint32, err error) {
	base := uint64(graphHead) + uint64(len(ir.Tensors))*descriptorSize + uint64(len(ir.Nodes))*nodeSize
	seen, shared := map[string]uint32{}, map[sharedText]uint32{}
	at = make([]uint32, len(ir.Nodes))
	for i := range ir.Nodes {
		object := ir.Nodes[i].Attributes
		if len(object) == 0 {
			continue
		}
		same := sharedText{&object[0], len(object)}
		if off, ok := shared[same]; ok {
			at[i] = off
			continue
		}
		if err := jsonmeta.Check(object, jsonmeta.Options{LoneSurrogates: true}); err != nil {
			return nil, nil, refuse(fmt.Sprintf("node %d", i), err, "attributes")
		}
		off, ok := seen[string(object)]
		if !ok {
			if base+uint64(len(attrs))+uint64(len(object)) > math.MaxUint32 {
				return nil, nil, refuse("graph", format.ErrLimit, "attributes reach beyond 4 GiB")
			}
			off = uint32(base + uint64(len(attrs)))
			seen[string(object)] = off
			attrs = append(attrs, object...)
		}
		at[i], shared[same] = off, off
	}
	return attrs, at, nil
}
