package mle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// graphSection is the graph IR as the file has it: four counts, the ids of
// inputs and outputs, tensor descriptors, nodes, attributes.
type graphSection struct {
	b    []byte
	base int64 // offset of b in the file

	nodes, tensors, inputs, outputs int

	nodesAt, attrsAt int // offsets in b

	loose bool // checkNodes met an id that no descriptor has
}

// descriptor is one tensor of the graph as the file has it.
type descriptor struct {
	offset, size uint64
	rank         uint32
	shape        [maxRank]uint32
	dtype        uint8
}

// constant reports whether the tensor has data.
func (d *descriptor) constant() bool { return d.size != 0 }

// node is one operator as the file has it.
type node struct {
	code                      uint16 // of the operator, as the file's version numbers it
	inputs, outputs, params   uint16
	inputIDs, outputIDs, pIDs [maxIDs]uint32
	attrOffset, attrSize      uint32
}

// parseGraph reads the counts and checks that what they count is there.
func parseGraph(b []byte, base int64) (g graphSection, err error) {
	g = graphSection{b: b, base: base}
	c := wire.NewCursor(formatName, b, base)
	nodes, tensors := c.U32("num_nodes"), c.U32("num_tensors")
	inputs, outputs := c.U32("num_inputs"), c.U32("num_outputs")
	switch {
	case c.Err() != nil:
	case inputs > maxIDs:
		c.Failf("num_inputs", base+8, format.ErrCorrupt, "%d, there is room for %d", inputs, maxIDs)
	case outputs > maxIDs:
		c.Failf("num_outputs", base+12, format.ErrCorrupt, "%d, there is room for %d", outputs, maxIDs)
	}
	c.Seek("input_ids", base+graphHead)
	g.tensors = c.Count("num_tensors", uint64(tensors), descriptorSize)
	c.Bytes("tensors", uint64(g.tensors)*descriptorSize)
	g.nodesAt = int(c.Offset() - base)
	g.nodes = c.Count("num_nodes", uint64(nodes), nodeSize)
	c.Bytes("nodes", uint64(g.nodes)*nodeSize)
	g.attrsAt = int(c.Offset() - base)
	g.inputs, g.outputs = int(inputs), int(outputs)
	return g, c.Err()
}

// ids reads the first n of the ids at offset at.
func (g *graphSection) ids(at, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(g.b[at+4*i:])
	}
	return out
}

func (g *graphSection) inputIDs() []uint32  { return g.ids(16, g.inputs) }
func (g *graphSection) outputIDs() []uint32 { return g.ids(16+4*maxIDs, g.outputs) }

// descriptorAt returns the offset of descriptor i in the section.
func (g *graphSection) descriptorAt(i int) int { return graphHead + i*descriptorSize }

// descriptor reads descriptor i, which exists.
func (g *graphSection) descriptor(i int) (d descriptor) {
	le, b := binary.LittleEndian, g.b[g.descriptorAt(i):][:descriptorSize]
	d.offset, d.size = le.Uint64(b), le.Uint64(b[8:])
	d.rank = le.Uint32(b[16:])
	for k := range d.shape {
		d.shape[k] = le.Uint32(b[20+4*k:])
	}
	d.dtype = b[52]
	return d
}

// node reads node i, which exists.
func (g *graphSection) node(i int) (n node) {
	le, b := binary.LittleEndian, g.b[g.nodesAt+i*nodeSize:][:nodeSize]
	n.code = le.Uint16(b)
	n.inputs, n.outputs, n.params = le.Uint16(b[2:]), le.Uint16(b[4:]), le.Uint16(b[6:])
	for k := range maxIDs {
		n.inputIDs[k] = le.Uint32(b[8+4*k:])
		n.outputIDs[k] = le.Uint32(b[72+4*k:])
		n.pIDs[k] = le.Uint32(b[136+4*k:])
	}
	n.attrOffset, n.attrSize = le.Uint32(b[200:]), le.Uint32(b[204:])
	return n
}

// checkDescriptor checks what open must know of descriptor i. scratch holds
// its shape meanwhile.
func (g *graphSection) checkDescriptor(i int, d *descriptor, scratch tensor.Shape) error {
	at := g.base + int64(g.descriptorAt(i))
	if d.rank > maxRank {
		return fail(tensorField(i)+" ndim", at+16, format.ErrCorrupt, "%d, there is room for %d dims", d.rank, maxRank)
	}
	if !d.constant() {
		return nil
	}
	dt := dtypeOf(d.dtype)
	if !dt.Valid() {
		return fail(tensorField(i)+" dtype", at+52, format.ErrUnsupported, "unknown code %d", d.dtype)
	}
	shape := scratch[:d.rank]
	for k := range shape {
		shape[k] = int64(d.shape[k])
	}
	size, err := shape.ByteSize(dt)
	if err != nil {
		return wire.Error(formatName, tensorField(i)+" shape", at+20, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	if uint64(size) != d.size {
		return fail(tensorField(i)+" size", at+8, format.ErrCorrupt, "%d bytes, shape %v of %v takes %d", d.size, shape, dt, size)
	}
	return nil
}

// tensorField names descriptor i in errors.
func tensorField(i int) string { return fmt.Sprintf("tensor descriptor %d", i) }

// checkNodes checks counts and attributes of all nodes.
func (g *graphSection) checkNodes() error {
	total := uint64(0)
	g.see(16, g.inputs)
	g.see(16+4*maxIDs, g.outputs)
	for i := range g.nodes {
		n := g.node(i)
		at := g.base + int64(g.nodesAt+i*nodeSize)
		for k, count := range [...]uint16{n.inputs, n.outputs, n.params} {
			if count > maxIDs {
				what := [...]string{"num_inputs", "num_outputs", "num_params"}[k]
				return fail(fmt.Sprintf("node %d %s", i, what), at+2+2*int64(k), format.ErrCorrupt, "%d, there is room for %d", count, maxIDs)
			}
		}
		first := g.nodesAt + i*nodeSize
		g.see(first+8, int(n.inputs))
		g.see(first+8+4*maxIDs, int(n.outputs))
		g.see(first+8+8*maxIDs, int(n.params))
		if n.attrSize == 0 {
			continue
		}
		end := uint64(n.attrOffset) + uint64(n.attrSize)
		if uint64(n.attrOffset) < uint64(g.attrsAt) || end > uint64(len(g.b)) {
			return fail(fmt.Sprintf("node %d attr_offset", i), at+200, format.ErrCorrupt,
				"attributes from %d to %d of the graph section, they are between %d and %d", n.attrOffset, end, g.attrsAt, len(g.b))
		}
		total += uint64(n.attrSize)
	}
	return g.checkAttributes(total)
}

// see notices ids that no descriptor has among n at offset at.
func (g *graphSection) see(at, n int) {
	for i := range n {
		id := binary.LittleEndian.Uint32(g.b[at+4*i:])
		g.loose = g.loose || uint64(id) >= uint64(g.tensors)
	}
}

// checkAttributes checks the attributes of all nodes, total bytes of them. Nodes
// may share them, so a small section can make much work: then each range is
// checked once, and ranges that still overlap out of all proportion are refused.
func (g *graphSection) checkAttributes(total uint64) error {
	const proportion = 64
	area := uint64(len(g.b) - g.attrsAt)
	var check jsonmeta.Checker
	if total <= 2*area {
		for i := range g.nodes {
			n := g.node(i)
			if err := g.checkAttribute(&check, n.attrOffset, n.attrSize); err != nil {
				return err
			}
		}
		return nil
	}
	ranges := g.ranges()
	total = 0
	for _, r := range ranges {
		total += r & 0xFFFFFFFF
	}
	if total > proportion*area+1<<20 {
		return fail("attributes", g.base+int64(g.attrsAt), format.ErrLimit, "ranges of %d bytes overlap in %d", total, area)
	}
	for _, r := range ranges {
		if err := g.checkAttribute(&check, uint32(r>>32), uint32(r)); err != nil {
			return err
		}
	}
	return nil
}

// ranges returns where attributes are, offset << 32 | size, ascending and each once.
func (g *graphSection) ranges() []uint64 {
	ranges := make([]uint64, 0, g.nodes)
	for i := range g.nodes {
		if n := g.node(i); n.attrSize > 0 {
			ranges = append(ranges, uint64(n.attrOffset)<<32|uint64(n.attrSize))
		}
	}
	slices.Sort(ranges)
	return slices.Compact(ranges)
}

func (g *graphSection) checkAttribute(check *jsonmeta.Checker, off, size uint32) error {
	if size == 0 {
		return nil
	}
	return jsonError(check.Check(g.b[off:][:size], jsonmeta.Options{LoneSurrogates: true}), "attributes", g.base+int64(off))
}

// jsonError locates an error of a JSON text that begins at offset base.
func jsonError(err error, field string, base int64) error {
	if err == nil {
		return nil
	}
	var where *jsonmeta.Error
	if errors.As(err, &where) {
		base += where.Offset
	}
	return wire.Error(formatName, field, base, err)
}
