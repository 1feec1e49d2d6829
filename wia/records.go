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

// indexer lists the tensors.
type indexer struct {
	f       *parsed
	was     *parsed // what take compares with, and then lists nothing; nil while opening
	max     int
	tensors int // so far
	dims    int64
	quants  chunks[tensor.Quantization]
	scales  chunks[float32]
	zeros   chunks[int32]
	scratch *scratch
}

// chunks is memory for lists whose length is not known before. What it gave out stays
// where it is.
type chunks[T any] struct{ left []T }

// take returns n elements.
func (c *chunks[T]) take(n int) []T {
	if n > cap(c.left)-len(c.left) {
		c.left = make([]T, 0, max(n, min(2*cap(c.left), 64<<10), 8))
	}
	at := len(c.left)
	c.left = c.left[:at+n]
	return c.left[at : at+n : at+n]
}

// scratch is memory that parsing any file needs.
type scratch struct {
	head    head
	window  protobuf.Window
	tally   protobuf.Tally
	records []record
	stored  []stored
	digests []digest
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// free gives the memory back, unless a file made it large.
func (s *scratch) free() {
	const most = 4 << 10
	if h := &s.head; max(cap(h.name), cap(h.dims), cap(h.ext.location), cap(h.ext.checksum), cap(h.quant.scales), cap(h.quant.zeros)) <= most {
		s.records, s.stored, s.digests = s.records[:0], s.stored[:0], s.digests[:0]
		scratches.Put(s)
	}
}

// mostTensors is how many tensors a scratch has room for that is used again.
const mostTensors = 64 << 10

// kept returns a list that stays with the file: a copy that is no longer than it must be,
// or the list itself if the scratch shall not keep so much.
func kept[T any](list *[]T) []T {
	if s := *list; cap(s) > mostTensors {
		*list = nil
		return s
	}
	return append([]T(nil), *list...)
}

// build lists the tensors of both blocks in the order of their records.
func (x *indexer) build() error {
	f := x.f
	defer x.open()()
	passes := []func() error{x.tensorBlock, x.initializers}
	if f.hdr.blocks[graphBlock].off < f.hdr.blocks[tensorBlock].off {
		slices.Reverse(passes)
	}
	for _, pass := range passes {
		if err := pass(); err != nil {
			return err
		}
	}
	f.records, f.stored, f.digests = kept(&x.scratch.records), kept(&x.scratch.stored), kept(&x.scratch.digests)
	return nil
}

// open makes the tensor block readable until the function that it returns is called.
func (x *indexer) open() (done func()) {
	p := &x.f.tensors
	if !p.inFile {
		return func() {}
	}
	p.From = x.f.window(&x.scratch.window)
	return func() {
		p.From.Close()
		p.Source = protobuf.Source{Size: p.Size}
	}
}

// tensorBlock walks the tensors of the TensorData message.
func (x *indexer) tensorBlock() error {
	p := &x.f.tensors
	s := &p.Source
	return p.locate("tensor", s.EachChecked(tensorDataMsg, protobuf.Field{End: s.Size}, func(fl protobuf.Field) (err error) {
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
	}))
}

// initializers walks those initializers of the graph that carry data. The
// graph's wire rules have been checked.
func (x *indexer) initializers() error {
	p := &x.f.graph
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
		x.f.carriers = true
		return x.take(p, h, &fl, true)
	}))
}

// take adds a tensor to the index, or compares it.
func (x *indexer) take(p *payload, h *head, fl *protobuf.Field, graph bool) error {
	x.tensors++
	x.dims += int64(len(h.dims))
	switch {
	case x.tensors > x.max:
		return protobuf.Defectf(fl.At, tensor.ErrLimit, "more than %d tensors", x.max)
	case x.dims > x.mostDims():
		return protobuf.Defectf(fl.At, tensor.ErrLimit, "more than %d dims", x.mostDims())
	}
	if err := x.check(h, fl.At); err != nil {
		return err
	}
	t := driver.Tensor{Name: h.name, DType: h.dt, Shape: h.dims, Size: h.size, Quant: x.quantization(&h.quant)}
	r := record{at: fl.Start, end: fl.End, graph: graph, compressed: h.compressed, external: h.arm == externalArm}
	if err := x.locate(p, h, &t, &r); err != nil {
		return err
	}
	if x.was != nil {
		return x.compare(&t, r, fl.At)
	}
	t.Shape = x.f.index.Dims(len(h.dims))
	copy(t.Shape, h.dims)
	if x.f.index.Add(&t) != nil {
		return protobuf.InField("name", protobuf.Defectf(fl.At, tensor.ErrCorrupt, "tensor %q has data twice", h.name))
	}
	x.scratch.records = append(x.scratch.records, r)
	return nil
}

// mostDims returns how many dims all tensors may have: as many as the file can hold.
func (x *indexer) mostDims() int64 {
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
		if t.Space, err = x.space(h.ext.location, r.at); err != nil {
			return err
		}
		t.Offset = h.ext.offset
		r.more = uint32(len(x.scratch.digests))
		x.scratch.digests = append(x.scratch.digests, h.ext.sum)
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
	r.more = uint32(len(x.scratch.stored))
	x.scratch.stored = append(x.scratch.stored, s)
	return nil
}

// space returns the space of an external file. One that is met for the first time when
// the tensors are only compared was not there.
func (x *indexer) space(location []byte, at int64) (driver.Space, error) {
	if _, known := x.f.spaces[string(location)]; x.was != nil && !known {
		return 0, protobuf.InField("location", protobuf.Defectf(at, tensor.ErrCorrupt, "%.200q: changed since the file was opened", location))
	}
	return x.f.space(location)
}

// quantization keeps the parameters in the arenas.
func (x *indexer) quantization(q *quantHead) *tensor.Quantization {
	if !q.quantized() {
		return nil
	}
	out := &x.quants.take(1)[0]
	q.quantization(out)
	if !q.perChannel {
		out.Scales, out.ZeroPoints = x.scales.take(1), x.zeros.take(1)
		out.Scales[0], out.ZeroPoints[0] = q.scale, q.zero
		return out
	}
	out.Scales = x.scales.take(len(q.scales))
	copy(out.Scales, q.scales)
	if n := len(q.zeros); n > 0 {
		out.ZeroPoints = x.zeros.take(n)
		copy(out.ZeroPoints, q.zeros)
	}
	return out
}
