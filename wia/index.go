package wia

import (
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/tensor"
)

// record is where the message of a tensor lies: what the catalog does not hold
// is read from there when it is asked for.
type record struct {
	at, end    int64 // within the payload
	graph      bool  // a data-carrying initializer: the payload is the graph's
	compressed bool  // a CompressedTensor
	external   bool
}

// index fills the catalog. Two passes over the records: the first checks all
// and counts, so that the second needs no memory but what was counted. Behind
// a reader, where a pass costs more than memory, there is only the second.
type index struct {
	f        *File
	max      int
	n        counts
	quants   []tensor.Quantization
	scales   []float32
	zeros    []int32
	scratch  head
	counting bool
}

// counts is how much memory the tensors take.
type counts struct{ tensors, names, dims, quants, scales, zeros int }

func (n *counts) add(h *head) {
	n.tensors++
	n.names += len(h.name)
	n.dims += len(h.dims)
	if h.quant.quantised() {
		n.quants++
		n.scales += max(1, len(h.quant.scales))
		n.zeros += max(1, len(h.quant.zeros))
	}
}

// build lists the tensors of both blocks in the order of their records.
func (x *index) build() error {
	f := x.f
	passes := []func() error{x.tensors, x.initializers}
	if f.hdr.blocks[graphBlock].off < f.hdr.blocks[tensorBlock].off {
		slices.Reverse(passes)
	}
	if f.tensors.fill == nil {
		x.counting = true
		for _, pass := range passes {
			if err := pass(); err != nil {
				return err
			}
		}
		x.counting = false
		f.tensors.checked = true
	}
	n := x.n
	f.Catalog = catalog.New(f.region, formatName, f.version(), n.tensors, n.names, n.dims)
	f.records = make([]record, 0, n.tensors)
	x.quants = make([]tensor.Quantization, 0, n.quants)
	x.scales = make([]float32, 0, n.scales)
	x.zeros = make([]int32, 0, n.zeros)
	for _, pass := range passes {
		if err := pass(); err != nil {
			return err
		}
	}
	f.tensors.checked = true
	return nil
}

// tensors walks the tensor block.
func (x *index) tensors() error {
	p := x.f.tensors
	err := x.walk(&p.source, tensorDataMsg, func(fl field) error {
		h := &x.scratch
		var err error
		switch fl.num {
		case 1:
			h.reset()
			err = p.tensor(h, fl.start, fl.end, 2)
		case 2:
			h.reset()
			err = p.compressedTensor(h, fl.start, fl.end, 2)
		default:
			return nil
		}
		if err == nil {
			err = x.take(p, h, &fl, false)
		}
		return err
	})
	return p.locate("tensor", err)
}

// initializers walks those initializers of the graph that carry data. The
// graph's wire rules have been checked.
func (x *index) initializers() error {
	p := x.f.graph
	if !p.carriers {
		return nil
	}
	err := x.walk(&p.source, graphMsg, func(fl field) error {
		if fl.num != 5 {
			return nil
		}
		h := &x.scratch
		h.reset()
		err := p.tensor(h, fl.start, fl.end, 2)
		if err != nil || h.arm == 0 {
			return err
		}
		return x.take(p, h, &fl, true)
	})
	return p.locate("graph", err)
}

// walk calls f for the known fields of an outermost message.
func (x *index) walk(s *source, m *message, f func(field) error) error {
	var fl field
	for p := int64(0); p < s.size; {
		err := s.next(&fl, p, s.size)
		if err == nil {
			var d *fieldDef
			if d, err = s.admit(m, &fl); d != nil && err == nil {
				err = f(fl)
			}
		}
		if err != nil {
			return s.place(m, 0, &fl, err)
		}
		p = fl.end
	}
	return nil
}

// take counts a tensor or adds it to the catalog.
func (x *index) take(p *payload, h *head, fl *field, graph bool) error {
	if err := h.settleNamed(fl.at); err != nil {
		return err
	}
	if h.compressed {
		if err := h.settleCompressed(fl.at, x.f.hdr.compression); err != nil {
			return err
		}
	} else if h.arm == 0 && h.size > 0 {
		return under("raw_data", flawed(fl.at, tensor.ErrCorrupt, "missing: %v of %v takes %d bytes", tensor.Shape(h.dims), h.dt, h.size))
	}
	if x.counting || x.f.tensors.fill != nil {
		x.n.add(h)
		switch {
		case x.n.tensors > x.max:
			return flawed(fl.at, tensor.ErrLimit, "more than %d tensors", x.max)
		case int64(x.n.dims) > dimLimit(x.max):
			return flawed(fl.at, tensor.ErrLimit, "more than %d dims", dimLimit(x.max))
		case x.counting:
			return nil
		}
	}
	t := catalog.Tensor{Name: h.name, DType: h.dt, Shape: x.f.Dims(len(h.dims)), Size: h.size, Quant: x.quantization(&h.quant)}
	copy(t.Shape, h.dims)
	x.lay(p, h, &t, graph)
	if !x.f.Add(&t) {
		return under("name", flawed(fl.at, tensor.ErrCorrupt, "tensor %q has data twice", h.name))
	}
	if h.arm == externalArm {
		x.f.uses(h.ext.location)
	}
	if t.Offset >= 0 && t.Size > 0 && t.Offset%unit(t.DType) != 0 {
		x.f.misaligned++
	}
	x.f.records = append(x.f.records, record{fl.start, fl.end, graph, h.compressed, h.arm == externalArm})
	return nil
}

// unit returns what the address of a tensor's data must be a multiple of: the
// size of an element, or of its halves.
func unit(d tensor.DType) int64 {
	if d == tensor.Complex64 {
		return d.Size() / 2
	}
	return d.Size()
}

// lay says where the data are.
func (x *index) lay(p *payload, h *head, t *catalog.Tensor, graph bool) {
	t.Offset, t.Lazy = -1, true
	data := h.raw
	switch {
	case h.arm == externalArm:
		t.Offset = h.ext.offset
		return
	case h.compressed:
		data = h.packed
		t.Stored = data.end - data.start
		t.Compression = h.codec(x.f.hdr.compression).codec()
	case graph && x.f.hdr.compression != None:
		t.Compression = x.f.hdr.compression.codec()
		t.Stored = -1
	}
	if p.base >= 0 && t.Compression == "" && data.start > 0 {
		t.Offset, t.Lazy = p.base+data.start, false
	}
}

// quantization keeps the parameters in the arenas.
func (x *index) quantization(q *quantHead) *tensor.Quantization {
	if !q.quantised() {
		return nil
	}
	x.quants = append(x.quants, tensor.Quantization{})
	out := &x.quants[len(x.quants)-1]
	q.quantization(out)
	s, z := len(x.scales), len(x.zeros)
	if q.perChannel {
		x.scales = append(x.scales, q.scales...)
		x.zeros = append(x.zeros, q.zeros...)
	} else {
		x.scales = append(x.scales, q.scale)
		x.zeros = append(x.zeros, q.zero)
	}
	out.Scales = x.scales[s:len(x.scales):len(x.scales)]
	if z < len(x.zeros) {
		out.ZeroPoints = x.zeros[z:len(x.zeros):len(x.zeros)]
	}
	return out
}

// settleNamed is settle for tensors that must have a name.
func (h *head) settleNamed(at int64) error {
	if len(h.name) == 0 {
		return under("name", flawed(at, tensor.ErrCorrupt, "empty name"))
	}
	err := h.settle(at)
	if h.compressed {
		err = under("tensor", err)
	}
	return err
}

// codec returns how the data of a CompressedTensor are compressed, in a file
// whose header says so for tensors that do not.
func (h *head) codec(header Compression) Compression {
	if h.compression == 0 {
		return header
	}
	return Compression(h.compression)
}

// settleCompressed checks what a CompressedTensor says beside its tensor.
func (h *head) settleCompressed(at int64, header Compression) error {
	stored := h.packed.end - h.packed.start
	switch {
	case h.arm != 0:
		return under("tensor", flawed(at, tensor.ErrCorrupt, "a compressed tensor carries data itself"))
	case h.compression < 0 || h.compression > int32(Zstd):
		return under("compression", flawed(at, format.ErrUnsupported, "code %d", h.compression))
	case h.uncompressed != h.size:
		return under("uncompressed_size", flawed(at, tensor.ErrCorrupt, "%d, %v of %v takes %d bytes", h.uncompressed, tensor.Shape(h.dims), h.dt, h.size))
	case stored == 0 && h.size > 0:
		return under("compressed_data", flawed(at, tensor.ErrCorrupt, "missing"))
	case h.codec(header) == None && stored != h.size:
		return under("compressed_data", flawed(at, tensor.ErrCorrupt, "%d bytes stored as they are, the tensor takes %d", stored, h.size))
	}
	return nil
}
