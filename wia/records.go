package wia

import (
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// record is what is kept of a tensor's message beyond the index.
type record struct {
	at, end    int64  // of the message, within the payload
	more       uint32 // in stored or digests
	graph      bool   // an initializer with data: the payload is the graph's
	compressed bool   // a CompressedTensor
	external   bool
}

// stored is where the bytes of a tensor are that must be decoded, within the payload.
type stored struct {
	start, end int64
	codec      Compression
}

// indexer lists the tensors. In memory a first pass only counts, so that the second
// needs no more memory than that: what it trusts is checked there, once. Behind a
// reader, where a pass costs more than memory, there is only the second.
type indexer struct {
	f         *parsed
	max       int
	n         counts
	quants    []tensor.Quantization
	scales    []float32
	zeros     []int32
	scratch   *scratch
	measuring bool
}

// counts is how much memory the tensors take.
type counts struct{ tensors, names, dims, stored, external, quants, scales, zeros int }

func (n *counts) add(p *payload, h *head) {
	n.tensors++
	n.names += len(h.name)
	n.dims += len(h.dims)
	switch {
	case h.arm == externalArm:
		n.external++
	case h.compressed || p.base < 0 || h.arm == 0:
		n.stored++
	}
	if h.quant.quantized() {
		n.quants++
		n.scales += max(1, len(h.quant.scales))
		n.zeros += max(1, len(h.quant.zeros))
	}
}

// scratch is memory that every indexer needs.
type scratch struct {
	buf  []byte // of the window
	head head
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// free gives the memory back, unless a file made it large.
func (s *scratch) free() {
	const most = 4 << 10
	if h := &s.head; max(cap(h.name), cap(h.dims), cap(h.ext.location), cap(h.ext.checksum), cap(h.quant.scales), cap(h.quant.zeros)) <= most {
		scratches.Put(s)
	}
}

// build lists the tensors of both blocks in the order of their records.
func (x *indexer) build() error {
	f := x.f
	x.scratch = scratches.Get().(*scratch)
	defer x.scratch.free()
	if f.src.InMemory() {
		if err := x.measure(); err != nil {
			return err
		}
	}
	if p := &f.tensors; p.inFile {
		w := f.window()
		w.Buf = x.scratch.buf
		p.From = w
		defer func() {
			p.Source = protobuf.Source{Size: p.Size}
			x.scratch.buf = w.Buf
		}()
	}
	passes := []func() error{x.tensors, x.initializers}
	if f.hdr.blocks[graphBlock].off < f.hdr.blocks[tensorBlock].off {
		slices.Reverse(passes)
	}
	for _, pass := range passes {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// measure counts, and makes room for what it counted. What is wrong is left to
// the second pass.
func (x *indexer) measure() error {
	f := x.f
	whole := f.tensors.Source
	if f.tensors.inFile {
		b, err := f.src.Slice(f.tensors.base, f.tensors.Size)
		if err != nil {
			return err
		}
		whole = protobuf.Source{Win: b, Size: f.tensors.Size}
	}
	whole.Checked = true
	x.measuring = true
	_ = x.walk(&whole, &f.tensors)
	_ = x.initializers()
	x.measuring = false
	n := x.n
	x.n = counts{}
	f.index.Grow(n.tensors, n.names, n.dims)
	f.records = make([]record, 0, n.tensors)
	f.stored = make([]stored, 0, n.stored)
	f.digests = make([]digest, 0, n.external)
	x.quants = make([]tensor.Quantization, 0, n.quants)
	x.scales = make([]float32, 0, n.scales)
	x.zeros = make([]int32, 0, n.zeros)
	return nil
}

// tensors walks the tensor block.
func (x *indexer) tensors() error {
	p := &x.f.tensors
	return p.locate("tensor", x.walk(&p.Source, p))
}

// walk takes the tensors of a TensorData message.
func (x *indexer) walk(s *protobuf.Source, p *payload) error {
	return s.EachChecked(tensorDataMsg, protobuf.Field{End: s.Size}, func(fl protobuf.Field) (err error) {
		h := &x.scratch.head
		h.reset()
		switch fl.Num {
		case 1:
			err = h.read(s, fl.Start, fl.End, 2)
		case 2:
			err = h.readCompressed(s, fl, 2)
		default:
			return nil
		}
		if err == nil {
			err = x.take(p, h, &fl, false)
		}
		return err
	})
}

// initializers walks those initializers of the graph that carry data. The
// graph's wire rules have been checked.
func (x *indexer) initializers() error {
	p := &x.f.graph
	if !p.Carriers {
		return nil
	}
	return p.locate("graph", p.Each(graphMsg, protobuf.Field{End: p.Size}, func(fl protobuf.Field) error {
		if fl.Num != 5 {
			return nil
		}
		h := &x.scratch.head
		h.reset()
		err := h.read(&p.Source, fl.Start, fl.End, 2)
		if err != nil || h.arm == 0 {
			return err
		}
		return x.take(p, h, &fl, true)
	}))
}

// take counts a tensor, and adds it to the index unless that is all for now.
func (x *indexer) take(p *payload, h *head, fl *protobuf.Field, graph bool) error {
	x.n.add(p, h)
	switch {
	case x.n.tensors > x.max:
		return protobuf.Defectf(fl.At, tensor.ErrLimit, "more than %d tensors", x.max)
	case int64(x.n.dims) > x.dims():
		return protobuf.Defectf(fl.At, tensor.ErrLimit, "more than %d dims", x.dims())
	case x.measuring:
		return nil
	}
	if err := x.check(h, fl.At); err != nil {
		return err
	}
	t := driver.Tensor{Name: h.name, DType: h.dt, Shape: x.f.index.Dims(len(h.dims)), Size: h.size, Quant: x.quantization(&h.quant)}
	copy(t.Shape, h.dims)
	r := record{at: fl.Start, end: fl.End, graph: graph, compressed: h.compressed, external: h.arm == externalArm}
	if err := x.locate(p, h, &t, &r); err != nil {
		return err
	}
	if !x.f.index.Add(&t) {
		return protobuf.InField("name", protobuf.Defectf(fl.At, tensor.ErrCorrupt, "tensor %q has data twice", h.name))
	}
	x.f.records = append(x.f.records, r)
	return nil
}

// dims returns how many dims all tensors may have: as many as the file can hold.
func (x *indexer) dims() int64 {
	b := &x.f.hdr.blocks
	return min(protobuf.DimLimit(x.max), int64(protobuf.DimsOf(b[graphBlock].size+b[tensorBlock].size)))
}

// check checks what must hold for a tensor of the file.
func (x *indexer) check(h *head, at int64) error {
	if len(h.name) == 0 {
		return protobuf.InField("name", protobuf.Defectf(at, tensor.ErrCorrupt, "empty name"))
	}
	err := h.check(at)
	switch {
	case h.compressed && err != nil:
		return protobuf.InField("tensor", err)
	case h.compressed:
		return h.checkCompressed(at, x.f.hdr.compression)
	case err == nil && h.arm == 0 && h.size > 0:
		return h.noData(at)
	}
	return err
}

func (h *head) noData(at int64) error {
	return protobuf.InField("raw_data", protobuf.Defectf(at, tensor.ErrCorrupt, "missing: %v of %v takes %d bytes", tensor.Shape(h.dims), h.dt, h.size))
}

// codec returns how the data of a CompressedTensor is compressed, in a file
// whose header says so for tensors that do not.
func (h *head) codec(header Compression) Compression {
	if h.compression == 0 {
		return header
	}
	return Compression(h.compression)
}

// checkCompressed checks what a CompressedTensor says of its tensor.
func (h *head) checkCompressed(at int64, header Compression) error {
	stored := h.packed.End - h.packed.Start
	switch {
	case h.arm != 0:
		return protobuf.InField("tensor", protobuf.Defectf(at, tensor.ErrCorrupt, "a compressed tensor carries data itself"))
	case h.compression < 0 || h.compression > int32(Zstd):
		return protobuf.InField("compression", protobuf.Defectf(at, format.ErrUnsupported, "code %d", h.compression))
	case h.uncompressed != h.size:
		return protobuf.InField("uncompressed_size", protobuf.Defectf(at, tensor.ErrCorrupt, "%d, %v of %v takes %d bytes", h.uncompressed, tensor.Shape(h.dims), h.dt, h.size))
	case stored == 0 && h.size > 0:
		return protobuf.InField("compressed_data", protobuf.Defectf(at, tensor.ErrCorrupt, "missing"))
	case h.codec(header) == None && stored != h.size:
		return protobuf.InField("compressed_data", protobuf.Defectf(at, tensor.ErrCorrupt, "%d bytes stored as they are, the tensor takes %d", stored, h.size))
	}
	return nil
}

// locate says where the data is.
func (x *indexer) locate(p *payload, h *head, t *driver.Tensor, r *record) (err error) {
	f := x.f
	if r.external {
		if t.Space, err = f.space(h.ext.location); err != nil {
			return err
		}
		t.Offset = h.ext.offset
		r.more = uint32(len(f.digests))
		f.digests = append(f.digests, h.ext.sum)
		return nil
	}
	s := stored{start: h.raw.Start, end: h.raw.End}
	switch {
	case h.compressed:
		s = stored{h.packed.Start, h.packed.End, h.codec(f.hdr.compression)}
		t.Stored = s.end - s.start
		t.Compression = s.codec.codec()
	case r.graph && f.hdr.compression != None:
		t.Compression = f.hdr.compression.codec()
		t.Stored = -1
	}
	if p.base >= 0 && t.Compression == "" && s.start > 0 {
		t.Offset = p.base + s.start
		return nil
	}
	t.Offset, t.Loaded = -1, true
	r.more = uint32(len(f.stored))
	f.stored = append(f.stored, s)
	return nil
}

// quantization keeps the parameters in the arenas.
func (x *indexer) quantization(q *quantHead) *tensor.Quantization {
	if !q.quantized() {
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
