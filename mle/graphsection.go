package mle

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
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

func (g *graphSection) inputIDs() []uint32  { return readIDs(g.b[16:], g.inputs) }
func (g *graphSection) outputIDs() []uint32 { return readIDs(g.b[16+4*maxIDs:], g.outputs) }

// descriptorAt returns the offset of descriptor i in the section.
func (g *graphSection) descriptorAt(i int) int { return graphHead + i*descriptorSize }

// descriptor returns descriptor i, which exists.
func (g *graphSection) descriptor(i int) *descriptor { return (*descriptor)(g.b[g.descriptorAt(i):]) }

// node returns node i, which exists.
func (g *graphSection) node(i int) *node { return (*node)(g.b[g.nodesAt+i*nodeSize:]) }

// checkDescriptor checks what open must know of descriptor i, which is not measured.
func (g *graphSection) checkDescriptor(i int, d *descriptor) error {
	at := g.base + int64(g.descriptorAt(i))
	if d.rank() > maxRank {
		return fail(tensorField(i)+" ndim", at+16, format.ErrCorrupt, "%d, there is room for %d dims", d.rank(), maxRank)
	}
	if !d.constant() {
		return nil
	}
	dt := dtypeOf(d.code())
	if !dt.Valid() {
		return fail(tensorField(i)+" dtype", at+52, format.ErrUnsupported, "unknown code %d", d.code())
	}
	shape := make(tensor.Shape, d.rank())
	d.shape(shape)
	size, err := shape.ByteSize(dt)
	if err != nil {
		return wire.Error(formatName, tensorField(i)+" shape", at+20, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	// The size is another, or it would be measured.
	return fail(tensorField(i)+" size", at+8, format.ErrCorrupt, "%d bytes, shape %v of %v takes %d", d.size(), shape, dt, size)
}

// tensorField names descriptor i in errors.
func tensorField(i int) string { return fmt.Sprintf("tensor descriptor %d", i) }

// checkNodes checks counts and attributes of all nodes.
func (g *graphSection) checkNodes(check *jsonmeta.Checker) error {
	total := uint64(0)
	for k := range g.inputs {
		g.see(idAt(g.b[16:], k))
	}
	for k := range g.outputs {
		g.see(idAt(g.b[16+4*maxIDs:], k))
	}
	for i := range g.nodes {
		n := g.node(i)
		for list := range nodeLists {
			count := int(n.count(list))
			if count > maxIDs {
				return g.failNode(i, [...]string{"num_inputs", "num_outputs", "num_params"}[list], 2+2*list, "%d, there is room for %d", count, maxIDs)
			}
			for k := range count {
				g.see(n.id(list, k))
			}
		}
		size := uint64(n.attrSize())
		if size == 0 {
			continue
		}
		from := uint64(n.attrOffset())
		if from < uint64(g.attrsAt) || from+size > uint64(len(g.b)) {
			return g.failNode(i, "attr_offset", nodeAttrs,
				"attributes from %d to %d of the graph section, they are between %d and %d", from, from+size, g.attrsAt, len(g.b))
		}
		total += size
	}
	return g.checkAttributes(check, total)
}

// failNode is the error for a field of node i, which is so far into it.
func (g *graphSection) failNode(i int, field string, at int, text string, args ...any) error {
	return fail(fmt.Sprintf("node %d %s", i, field), g.base+int64(g.nodesAt+i*nodeSize+at), format.ErrCorrupt, text, args...)
}

// see notices an id that no descriptor has.
func (g *graphSection) see(id uint32) {
	g.loose = g.loose || uint64(id) >= uint64(g.tensors)
}

// checkAttributes checks the attributes of all nodes, total bytes of them. Nodes
// may share them, so a small section can make much work: then each range is
// checked once, and ranges that still overlap out of all proportion are refused.
func (g *graphSection) checkAttributes(check *jsonmeta.Checker, total uint64) error {
	const proportion = 64
	area := uint64(len(g.b) - g.attrsAt)
	if total <= 2*area {
		return g.checkTexts(check)
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
		if err := g.checkAttribute(check, uint32(r>>32), uint32(r)); err != nil {
			return err
		}
	}
	return nil
}

// ranges returns where attributes are, offset << 32 | size, ascending and each once.
// Most of those that nodes share are not sorted with the others: another node with
// them came just before.
func (g *graphSection) ranges() []uint64 {
	ranges := make([]uint64, 0, min(g.nodes, 1024))
	var recent [64]uint64
	for i := range g.nodes {
		n := g.node(i)
		if n.attrSize() == 0 {
			continue
		}
		r := uint64(n.attrOffset())<<32 | uint64(n.attrSize())
		if last := &recent[r*0x9E3779B97F4A7C15>>58]; *last != r {
			*last = r
			ranges = append(ranges, r)
		}
	}
	slices.Sort(ranges)
	return slices.Compact(ranges)
}

// checkTexts checks the attributes of every node. Exporters write the same for many nodes:
// a text that was checked a while ago is not checked again.
func (g *graphSection) checkTexts(check *jsonmeta.Checker) error {
	var recent [64]uint64 // offset << 32 | size, by hash
	for i := range g.nodes {
		n := g.node(i)
		off, size := n.attrOffset(), n.attrSize()
		if size == 0 {
			continue
		}
		text := g.b[off:][:size]
		last := &recent[maphash.Bytes(seed, text)%64]
		if bytes.Equal(g.b[*last>>32:][:uint32(*last)], text) {
			continue
		}
		if err := g.checkAttribute(check, off, size); err != nil {
			return err
		}
		*last = uint64(off)<<32 | uint64(size)
	}
	return nil
}

// checkAttribute checks the size bytes of attributes, not 0, at an offset.
func (g *graphSection) checkAttribute(check *jsonmeta.Checker, off, size uint32) error {
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
