package wia

import (
	"cmp"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/messages"
)

// record describes a tensor's message, beyond what the index holds.
type record struct {
	at       int64 // of the message, within the payload
	data     span  // of the data of a tensor to decode, within the payload
	block    block // tensorBlock, or graphBlock for an initializer with data
	codec    Compression
	external int32 // in externals; -1 for data in the file
}

// listTensors lists the tensors of both blocks in the order of their records.
func (p *parser) listTensors() error {
	counts := p.newCounts()
	defer func() {
		p.f.records = slices.Clone(p.f.records) // without the room to grow
		p.f.hasDocs = counts.HasDocs
	}()
	_, err := p.loadBlock(graphBlock)
	if err != nil {
		return err
	}
	_, err = p.loadBlock(tensorBlock)
	if err != nil {
		return err
	}
	if p.f.hdr.blocks[graphBlock].off < p.f.hdr.blocks[tensorBlock].off {
		err = p.listGraph(counts)
		if err != nil {
			return err
		}
		return p.listBlock(counts)
	}
	err = p.listBlock(counts)
	if err != nil {
		return err
	}
	return p.listGraph(counts)
}

// newCounts returns the limits of both blocks. They may have a dim per stored byte, and a million
// more in case one is compressed.
func (p *parser) newCounts() *messages.Counts {
	c := messages.NewCounts()
	stored := p.f.hdr.blocks[graphBlock].size + p.f.hdr.blocks[tensorBlock].size
	c.Max[messages.Dims] = min(messages.MaxDims, 1<<20+stored)
	return c
}

// checkGraph checks the encoding of the graph.
func (p *parser) checkGraph(counts *messages.Counts) error {
	g := p.f.graph()
	counts.Around = 0
	m, err := table.Check(typeGraph, g.text(), counts)
	if err != nil {
		return g.place(graphBlock, typeGraph, err)
	}
	p.message = m
	return nil
}

// listGraph checks the graph, and lists its initializers that have data. The decoder checks the
// others.
func (p *parser) listGraph(counts *messages.Counts) error {
	err := p.checkGraph(counts)
	if err != nil {
		return err
	}
	h := p.head
	for f := p.message.Cursor(); f.Next(); {
		if f.Number != graphInitializers {
			continue
		}
		h.reset()
		err := h.read(f.Message())
		if err != nil {
			return p.f.graph().place(graphBlock, typeGraph, err)
		}
		if h.data == 0 {
			continue
		}
		err = p.add(graphBlock, f.ValueAt())
		if err != nil {
			return p.f.graph().place(graphBlock, typeGraph, messages.MessageAt(err, f.At()))
		}
	}
	return nil
}

// blockReader reads the tensor block.
type blockReader struct {
	p      *parser
	counts *messages.Counts
	shell  messages.Copy // the current record without its data
}

// listBlock lists the tensors of the tensor block, and keeps what Native has of them.
func (p *parser) listBlock(counts *messages.Counts) error {
	block := &p.f.payloads[tensorBlock]
	section := p.f.section(block)
	defer section.Close()
	r := &blockReader{p: p, counts: counts}
	r.shell.Begin(p.f.memory)
	defer r.shell.Drop()
	p.f.more.Begin(p.f.memory)
	s := section.Scan(table, typeTensorData, tensorBlock.String())
	for s.Next() {
		switch s.Number {
		case tensorRecords:
			r.record(&s, typeTensor, rawData)
		case compressedRecords:
			r.record(&s, typeCompressed, compressedData)
		case padding:
			s.Admits()
		default:
			s.Keep(&p.f.more)
		}
	}
	if s.Err() != nil {
		p.f.more.Drop()
		return block.locate(s.Err())
	}
	err := p.f.more.Finish()
	if err != nil {
		return block.locate(&messages.Placed{Field: tensorBlock.String(), Err: err})
	}
	return nil
}

// record reads and lists the record in the current field of the tensor block, whose data is in a
// field of it.
func (r *blockReader) record(s *messages.Scan, t messages.Type, dataField int) {
	h := r.p.head
	h.reset()
	r.shell.Reset()
	var data valueHead
	isMarked := false
	f := s.Inner(t)
	for f.Next() {
		if f.Number != dataField {
			f.Keep(&r.shell)
			continue
		}
		if !f.Admits() {
			break
		}
		if !isMarked { // an empty field marks the place
			data.tag = int64(len(r.shell.Text()))
			var empty [2]byte
			f.Replace(&r.shell, messages.AppendLength(empty[:0], dataField, 0), f.At)
			isMarked = true
		}
		data.span = span{f.Value, f.End - f.Value}
	}
	r.counts.Around = 1
	m, bad := table.Check(t, r.shell.Text(), r.counts)
	err := messages.Lowest(s.Place(&r.shell, table, t, bad), f.Err())
	if err != nil {
		s.Stop(err)
		return
	}
	s.Stop(s.Place(&r.shell, table, t, r.decode(s, m, data)))
}

// decode decodes and lists the record that was read, and keeps it if Native has something of it.
func (r *blockReader) decode(s *messages.Scan, m messages.Message, data valueHead) error {
	h := r.p.head
	if s.Number == compressedRecords {
		err := h.readCompressed(m)
		if err != nil {
			return err
		}
		h.packed = data
	} else {
		err := h.read(m)
		if err != nil {
			return err
		}
		if h.data == rawData {
			h.raw = data
		}
	}
	err := r.p.add(tensorBlock, s.Value)
	if err != nil {
		return err
	}
	if h.keeps() {
		s.ReplaceWith(&r.p.f.more, &r.shell)
	}
	return nil
}

// add checks the tensor in head, which is a tensor of the file, and adds it to the index. at is the
// offset of its message in the block.
func (p *parser) add(b block, at int64) error {
	h := p.head
	if len(h.name) == 0 {
		return emptyName()
	}
	r := record{at: at, block: b, external: -1, data: h.raw.span}
	err := h.check()
	if err != nil {
		return h.inner(err)
	}
	if h.compressed {
		r.data = h.packed.span
		r.codec, err = p.checkCompressed()
		if err != nil {
			return err
		}
	}
	t := driver.Tensor{Name: h.name, DType: h.dtype, Shape: p.f.index.Dims(len(h.dims)), Size: h.size}
	t.Quant = h.quant.quantization()
	copy(t.Shape, h.dims)
	err = p.locateData(&t, &r)
	if err != nil {
		return err
	}
	if p.f.index.Add(&t) != nil {
		return badField("name", "tensor %q has data twice", h.name)
	}
	p.f.records = append(p.f.records, r)
	return nil
}

// inner adds the field of a CompressedTensor with the tensor to an error about the tensor.
func (h *head) inner(err error) error {
	e, ok := err.(*messages.Error)
	if ok && h.compressed && e.At == messages.OfMessage {
		e.Field = messages.Join("tensor", e.Field)
	}
	return err
}

func emptyName() error { return badField("name", "empty name") }

// checkCompressed checks the CompressedTensor in head and returns its codec, by default that of the
// header.
func (p *parser) checkCompressed() (Compression, error) {
	h := p.head
	stored := h.packed.size
	codec := cmp.Or(Compression(h.compression), p.f.hdr.compression)
	switch {
	case h.data != 0:
		return 0, badField("tensor", "a compressed tensor carries data itself")
	case h.compression < 0 || h.compression > int32(Zstd):
		return 0, messages.Errorf(messages.OfMessage, "compression", format.ErrUnsupported,
			"code %d", h.compression)
	case h.uncompressed != h.size:
		return 0, badField("uncompressed_size",
			"%d, %v of %v takes %d bytes", h.uncompressed, h.dims, h.dtype, h.size)
	case stored == 0 && h.size > 0:
		return 0, badField("compressed_data", "missing")
	case codec == None && stored != h.size:
		return 0, badField("compressed_data",
			"%d bytes stored as they are, the tensor takes %d", stored, h.size)
	}
	return codec, nil
}

// locateData sets where the data is in t and r.
func (p *parser) locateData(t *driver.Tensor, r *record) error {
	base := p.f.payloads[r.block].base
	t.Offset = base + r.data.off
	t.Stored = r.data.size
	switch {
	case p.head.data == externalData:
		r.external = int32(len(p.f.externals))
		t.Offset = p.head.ext.offset
		space, err := p.addExternal(p.f.index.Len())
		t.Space = space
		return err
	case r.codec != None:
		t.Compression = r.codec.String()
	case r.block == graphBlock && p.f.hdr.compression != None:
		t.Compression = p.f.hdr.compression.String()
		t.Stored = -1
	}
	if base < 0 || t.Compression != "" || r.data.off == 0 {
		t.Offset = -1
		t.Loaded = true
	}
	return nil
}
