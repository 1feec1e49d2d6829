package wia

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
)

// record describes a tensor's message, beyond what the index holds.
type record struct {
	at, end    int64 // of the message, within the payload
	data       span  // of the data of a tensor to decode, within the payload
	block      block // tensorBlock, or graphBlock for an initializer with data
	codec      Compression
	compressed bool  // a CompressedTensor
	more       bool  // it has fields that a schema does not hold
	external   int32 // in externals; -1 for data in the file
}

// recordPool has memory for records, whose number is not known in advance.
var recordPool = sync.Pool{New: func() any { return new([]record) }}

// listTensors lists the tensors of both blocks in the order of their records.
func (p *parser) listTensors() error {
	list := recordPool.Get().(*[]record)
	p.records = (*list)[:0]
	defer func() {
		*list = p.records
		p.records = slices.Clone(p.records)
		recordPool.Put(list)
	}()
	g, err := p.load(graphBlock)
	if err != nil {
		return err
	}
	t, err := p.load(tensorBlock)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Tally = p.tally(math.MaxInt64)
	g.Tally = t.Tally
	first := tensorBlock
	second := graphBlock
	if p.hdr.blocks[graphBlock].off < p.hdr.blocks[tensorBlock].off {
		first, second = second, first
	}
	if err := p.list(first); err != nil {
		return err
	}
	return p.list(second)
}

// tally returns a Tally for both blocks, with room bytes for their other contents. They may have a
// dim per stored byte, and a million more in case one is compressed.
func (p *parser) tally(room int64) *protobuf.Tally {
	t := protobuf.NewTally(room)
	stored := p.hdr.blocks[graphBlock].size + p.hdr.blocks[tensorBlock].size
	t.Max[protobuf.CountedAs("dims")] = min(protobuf.MaxDims, 1<<20+stored)
	return t
}

// list lists the tensors of a block: the records of the tensor block, or the initializers of the
// graph that have data. It leaves other errors in the graph to the decoder.
func (p *parser) list(b block) error {
	block := &p.payloads[b]
	h := p.head
	s := &block.Source
	inGraph := b == graphBlock
	refused := false
	w := s.Walk(blockMessages[b], s.All(), 1)
	for w.Next() {
		h.reset()
		switch {
		case w.Def == nil:
			p.tail = p.tail || !inGraph
			continue
		case w.Def.Message == tensorMsg:
			w.Err = h.read(s, w.Field, 2)
		case w.Def.Message == compressedMsg:
			w.Err = h.readCompressed(s, w.Field, 2)
		default:
			continue
		}
		if w.Err == nil && (h.data != 0 || !inGraph) {
			w.Err = p.add(&w.Field, b)
			refused = w.Err != nil
		}
	}
	if inGraph && !refused {
		return nil
	}
	return block.locate(b.String(), w.Err)
}

// add checks the tensor in head, which is a tensor of the file, and adds it to the index.
func (p *parser) add(fl *protobuf.Field, b block) error {
	h := p.head
	data := &p.head.raw
	if len(h.name) == 0 {
		return emptyName(fl.At)
	}
	r := record{at: fl.Start, end: fl.End, block: b, external: -1, compressed: h.compressed, more: h.more}
	err := h.check(fl.At)
	if h.compressed {
		err = protobuf.InField("tensor", err)
		data = &h.packed
		if err == nil {
			r.codec, err = p.checkCompressed(fl.At)
		}
	}
	if err != nil {
		return err
	}
	r.data = span{data.Start, data.End - data.Start}
	t := driver.Tensor{Name: h.name, DType: h.dt, Shape: p.index.Dims(len(h.dims)), Size: h.size}
	t.Quant = h.quant.quantization()
	copy(t.Shape, h.dims)
	if err := p.place(&t, &r, fl.At); err != nil {
		return err
	}
	if p.index.Add(&t) != nil {
		return protobuf.Corruptf("name", fl.At, "tensor %q has data twice", h.name)
	}
	p.records = append(p.records, r)
	return nil
}

func emptyName(at int64) error { return protobuf.Corruptf("name", at, "empty name") }

// checkCompressed checks the CompressedTensor in head and returns its codec, by default that of the
// header.
func (p *parser) checkCompressed(at int64) (codec Compression, err error) {
	h := p.head
	stored := p.head.packed.End - p.head.packed.Start
	codec = cmp.Or(Compression(h.compression), p.hdr.compression)
	switch {
	case h.data != 0:
		err = protobuf.Corruptf("tensor", at, "a compressed tensor carries data itself")
	case h.compression < 0 || h.compression > int32(Zstd):
		err = protobuf.InField("compression", protobuf.Defectf(at, format.ErrUnsupported, "code %d", h.compression))
	case h.uncompressed != h.size:
		err = protobuf.Corruptf("uncompressed_size", at, "%d, %v of %v takes %d bytes", h.uncompressed, h.dims, h.dt, h.size)
	case stored == 0 && h.size > 0:
		err = protobuf.Corruptf("compressed_data", at, "missing")
	case codec == None && stored != h.size:
		err = protobuf.Corruptf("compressed_data", at, "%d bytes stored as they are, the tensor takes %d", stored, h.size)
	}
	return codec, err
}

// place sets where the data is in t and r. at is the offset for errors.
func (p *parser) place(t *driver.Tensor, r *record, at int64) (err error) {
	base := p.payloads[r.block].Base
	t.Offset = base + r.data.off
	t.Stored = r.data.size
	switch {
	case p.head.data == externalArm:
		r.external = int32(len(p.externals))
		r.more = true
		t.Offset = p.head.ext.offset
		t.Space, err = p.refer(p.index.Len(), at)
		return err
	case r.codec != None:
		t.Compression = r.codec.String()
	case r.block == graphBlock && p.hdr.compression != None:
		t.Compression = p.hdr.compression.String()
		t.Stored = -1
	}
	if base < 0 || t.Compression != "" || r.data.off == 0 {
		t.Offset = -1
		t.Loaded = true
	}
	return nil
}
