package wia

import (
	"math"
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
	f     *parsed
	head  head
	quant quantMemory
}

// recordPool has memory for records, whose number is known only at the end.
var recordPool = sync.Pool{New: func() any { return new([]record) }}

// listTensors lists the tensors of both blocks in the order of their records.
func (f *parsed) listTensors() error {
	list := recordPool.Get().(*[]record)
	f.records = (*list)[:0]
	defer func() {
		*list = f.records
		f.records = slices.Clone(f.records)
		recordPool.Put(list)
	}()
	if p := &f.tensors; p.inFile {
		p.Source = *f.reader(p)
		defer func() {
			p.Close()
			p.Source = protobuf.Source{Size: p.Size}
		}()
	}
	x := &indexer{f: f}
	f.tensors.Tally = f.tally(math.MaxInt64)
	f.graph.Tally = f.tensors.Tally
	passes := []func() error{x.tensorBlock, x.initializers}
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

// tally returns what counts the tensors of both blocks, whose other contents may take room bytes.
func (f *parsed) tally(room int64) *protobuf.Tally {
	t, b := protobuf.NewTally(room), &f.hdr.blocks
	t.Max[protobuf.CountDims] = int64(protobuf.DimsOf(b[graphBlock].size + b[tensorBlock].size))
	return t
}

// tensorBlock lists the tensors of the TensorData message.
func (x *indexer) tensorBlock() error {
	p, h := &x.f.tensors, &x.head
	w := p.Walk(tensorDataMsg, p.All(), 1)
	for w.Next() {
		h.reset()
		switch w.Num {
		case 1:
			w.Err = h.read(&p.Source, w.Field, 2)
		case 2:
			w.Err = h.readCompressed(&p.Source, w.Field, 2)
		default:
			continue
		}
		if w.Err == nil {
			w.Err = x.add(p, &w.Field, false)
		}
	}
	return p.locate("tensor", w.Err)
}

// initializers lists those initializers of the graph that carry data. What is wrong with the
// graph is found when it is decoded.
func (x *indexer) initializers() error {
	p, h := &x.f.graph, &x.head
	w := p.Walk(graphMsg, p.All(), 1)
	for w.Next() {
		if w.Num != graphSchema.Initializers {
			continue
		}
		h.reset()
		if h.read(&p.Source, w.Field, 2) != nil {
			return nil
		}
		if h.data == 0 {
			continue
		}
		if err := x.add(p, &w.Field, true); err != nil {
			return p.locate("graph", w.Fail(err))
		}
	}
	return nil
}

// add adds the tensor in head to the index.
func (x *indexer) add(p *payload, fl *protobuf.Field, graph bool) error {
	f, h := x.f, &x.head
	if err := x.check(fl.At); err != nil {
		return err
	}
	t := driver.Tensor{Name: h.name, DType: h.dt, Shape: f.index.Dims(len(h.dims)), Size: h.size, Quant: h.quant.quantization(&x.quant)}
	copy(t.Shape, h.dims)
	r := record{at: fl.Start, end: fl.End, graph: graph, compressed: h.compressed, external: h.data == externalArm}
	if err := x.locate(p, &t, &r); err != nil {
		return err
	}
	if f.index.Add(&t) != nil {
		return protobuf.InField("name", protobuf.Defectf(fl.At, tensor.ErrCorrupt, "tensor %q has data twice", h.name))
	}
	f.records = append(f.records, r)
	return nil
}

// check checks what must hold for a tensor of the file.
func (x *indexer) check(at int64) error {
	h := &x.head
	if len(h.name) == 0 {
		return protobuf.InField("name", protobuf.Defectf(at, tensor.ErrCorrupt, "empty name"))
	}
	err := h.check(at)
	switch {
	case h.compressed && err != nil:
		return protobuf.InField("tensor", err)
	case h.compressed:
		return h.checkCompressed(at, x.f.hdr.compression)
	case err == nil && h.data == 0 && h.size > 0:
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
	case h.data != 0:
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
func (x *indexer) locate(p *payload, t *driver.Tensor, r *record) (err error) {
	f, h := x.f, &x.head
	if r.external {
		t.Offset = h.ext.offset
		t.Space, err = f.space(h.ext.location)
		r.more = uint32(len(f.digests))
		f.digests = append(f.digests, h.ext.sum)
		return err
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
