package wia

import (
	"crypto/sha256"
	"math"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// record describes a tensor's message, beyond what the index holds.
type record struct {
	at, end    int64 // of the message, within the payload
	data       span  // of the data of a tensor to decode, within the payload
	block      block // tensorBlock, or graphBlock for an initializer with data
	codec      Compression
	compressed bool  // a CompressedTensor
	more       bool  // it has fields that the index does not hold
	external   int32 // in externals; negative for data in the file
}

// recordPool has memory for records, whose number is not known in advance.
var recordPool = sync.Pool{New: func() any { return new([]record) }}

// listTensors lists the tensors of both blocks in the order of their records.
func (p *parser) listTensors() error {
	list := recordPool.Get().(*[]record)
	p.records = (*list)[:0]
	defer func() {
		*list, p.records = p.records, slices.Clone(p.records)
		recordPool.Put(list)
	}()
	g, err := p.load(graphBlock, inflated(maxGraph, p.hdr.blocks[graphBlock].size))
	if err != nil {
		return err
	}
	t := &p.payloads[tensorBlock]
	if s := p.hdr.blocks[tensorBlock]; p.cipher != nil {
		if _, err = p.load(tensorBlock, 0); err != nil {
			return err
		}
	} else {
		*t = payload{*protobuf.OpenFile(p.src, s.off, s.size), s.off}
		defer t.Close()
	}
	t.Tally = p.tally(math.MaxInt64)
	g.Tally = t.Tally
	passes := []func() error{p.tensorBlock, p.initializers}
	if p.hdr.blocks[graphBlock].off < p.hdr.blocks[tensorBlock].off {
		slices.Reverse(passes)
	}
	if err = passes[0](); err != nil {
		return err
	}
	return passes[1]()
}

// tally returns a Tally for both blocks, with room bytes for their other contents. They may have a dim per stored
// byte, and a million more in case one is compressed.
func (p *parser) tally(room int64) *protobuf.Tally {
	p.counts = *protobuf.NewTally(room)
	t, stored := &p.counts, p.hdr.blocks[graphBlock].size+p.hdr.blocks[tensorBlock].size
	t.Max[protobuf.CountedAs("dims")] = min(protobuf.MaxDims, 1<<20+stored)
	return t
}

// tensorBlock lists the tensors of the TensorData message.
func (p *parser) tensorBlock() error {
	block, h := &p.payloads[tensorBlock], &p.head
	s := &block.Source
	w := s.Walk(tensorDataMsg, s.All(), 1)
	for w.Next() {
		h.reset()
		switch w.Num {
		case 1:
			w.Err = h.read(s, w.Field, 2)
		case 2:
			w.Err = h.readCompressed(s, w.Field, 2)
		default:
			p.tail = p.tail || w.Def == nil
			continue
		}
		if w.Err == nil {
			w.Err = p.add(&w.Field, tensorBlock)
		}
	}
	return block.locate("tensor", w.Err)
}

// initializers lists the initializers of the graph that have data. It leaves
// errors in the graph to the decoder.
func (p *parser) initializers() error {
	block, h := p.graph(), &p.head
	s := &block.Source
	w := s.Walk(graphMsg, s.All(), 1)
	for w.Next() {
		if w.Num != graphSchema.Initializers {
			continue
		}
		h.reset()
		if h.read(s, w.Field, 2) != nil {
			return nil
		}
		if h.data == 0 {
			continue
		}
		if w.Err = p.add(&w.Field, graphBlock); w.Err != nil {
			w.Next() // completes the path
			return block.locate("graph", w.Err)
		}
	}
	return nil
}

// add checks the tensor in head and adds it to the index.
func (p *parser) add(fl *protobuf.Field, b block) error {
	h := &p.head
	if err := p.check(fl.At); err != nil {
		return err
	}
	t := driver.Tensor{Name: h.name, DType: h.dt, Shape: p.index.Dims(len(h.dims)), Size: h.size, Quant: h.quant.quantization(&p.quants)}
	copy(t.Shape, h.dims)
	r := record{at: fl.Start, end: fl.End, block: b, compressed: h.compressed, external: -1, more: h.more}
	if err := p.place(&t, &r); err != nil {
		return err
	}
	if p.index.Add(&t) != nil {
		return protobuf.Corruptf("name", fl.At, "tensor %q has data twice", h.name)
	}
	p.records = append(p.records, r)
	return nil
}

// check checks the tensor in head, which is a tensor of the file.
func (p *parser) check(at int64) error {
	h := &p.head
	if len(h.name) == 0 {
		return emptyName(at)
	}
	err := h.check(at)
	switch {
	case h.compressed && err != nil:
		return protobuf.InField("tensor", err)
	case h.compressed:
		return h.checkCompressed(at, p.hdr.compression)
	}
	return err
}

func emptyName(at int64) error {
	return protobuf.Corruptf("name", at, "empty name")
}

// codec returns the compression of a CompressedTensor, by default that of the
// header.
func (h *head) codec(header Compression) Compression {
	if h.compression == 0 {
		return header
	}
	return Compression(h.compression)
}

// checkCompressed checks a CompressedTensor.
func (h *head) checkCompressed(at int64, header Compression) error {
	stored := h.packed.End - h.packed.Start
	switch {
	case h.data != 0:
		return protobuf.Corruptf("tensor", at, "a compressed tensor carries data itself")
	case h.compression < 0 || h.compression > int32(Zstd):
		return protobuf.InField("compression", protobuf.Defectf(at, format.ErrUnsupported, "code %d", h.compression))
	case h.uncompressed != h.size:
		return protobuf.Corruptf("uncompressed_size", at, "%d, %v of %v takes %d bytes", h.uncompressed, tensor.Shape(h.dims), h.dt, h.size)
	case stored == 0 && h.size > 0:
		return protobuf.Corruptf("compressed_data", at, "missing")
	case h.codec(header) == None && stored != h.size:
		return protobuf.Corruptf("compressed_data", at, "%d bytes stored as they are, the tensor takes %d", stored, h.size)
	}
	return nil
}

// place sets the location of the data in t and r.
func (p *parser) place(t *driver.Tensor, r *record) (err error) {
	h, in := &p.head, &p.payloads[r.block]
	if h.data == externalArm {
		r.external = int32(len(p.externals))
		t.Offset = h.ext.offset
		t.Space, err = p.refer(p.index.Len())
		return err
	}
	r.data = span{h.raw.Start, h.raw.End - h.raw.Start}
	switch {
	case h.compressed:
		r.data, r.codec = span{h.packed.Start, h.packed.End - h.packed.Start}, h.codec(p.hdr.compression)
		t.Stored = r.data.size
	case r.block == graphBlock && p.hdr.compression != None:
		t.Compression = p.hdr.compression.String()
		t.Stored = -1
	}
	if r.codec != None {
		t.Compression = r.codec.String()
	}
	if t.Offset = in.Base + r.data.off; in.Base < 0 || t.Compression != "" || r.data.off == 0 {
		t.Offset, t.Loaded = -1, true
	}
	return nil
}

// externalData is the range of an external file with the data of a tensor.
type externalData struct {
	tensor int    // index; -1 for a tensor inside the graph
	name   string // of a tensor inside the graph
	space  driver.Space
	span
	checksum
}

// externalDataBytes is the memory to reserve for an element of a growing list.
const externalDataBytes = 192

// checksum is an optional SHA-256 checksum.
type checksum struct {
	summed bool
	sum    [sha256.Size]byte
}

// externalError adds the name of the tensor and the offset of its message to an
// error about external data. For a tensor inside the graph it adds only the
// field and the offset of the graph.
func (f *parsed) externalError(x *externalData, err error) error {
	switch {
	case err == nil:
		return nil
	case x.tensor < 0:
		return wire.Error(formatName, "graph: external_data", f.graph().at, err)
	}
	return f.tensorError(x.tensor, "external_data", f.records[x.tensor].at, err)
}
