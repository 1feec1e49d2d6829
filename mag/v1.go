package mag

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// parseV1 reads version 1 from the checksum on.
func (p *parser) parseV1() {
	r := &p.r
	tensors, entries := p.headerV1()
	entriesAt := r.Offset()
	for range r.Records("", entries, typicalRecord) {
		p.skipEntry()
	}
	tensorsAt := r.Offset()
	names := 0
	dims := 0
	for range r.Records("", tensors, typicalRecord) {
		name, rank := p.skipTensor()
		names += name
		dims += rank
	}
	p.endStructure()
	if r.Err() != nil {
		return
	}
	p.f.index.Grow(tensors, names, dims)
	p.addTensors(tensors, tensorsAt)
	if r.Err() != nil {
		return
	}
	p.addEntries(entries, entriesAt)
}

// addTensors lists the tensors of n records from an offset on, which were skipped before.
func (p *parser) addTensors(n int, offset int64) {
	rows := p.r.Window(offset, p.f.end)
	at := 0
	for range n {
		t, size := decodeRow(rows[at:])
		t.at = offset + int64(at)
		p.addV1(&t)
		if p.r.Err() != nil {
			return
		}
		at += size
	}
}

// decodeRow decodes a tensor record that skipTensor has read, and returns its size. It is recordV1
// without the names of the fields: with them, opening takes 1.1 times as long.
func decodeRow(b []byte) (t record, size int) {
	shapeAt := tensorHead
	lengthAt := shapeAt + 8*int(b[1])
	nameAt := lengthAt + 4
	size = nameAt + int(le.Uint32(b[lengthAt:]))
	t.code = b[0]
	t.dtype = dtypesV1[t.code]
	t.aux = le.Uint16(b[2:])
	t.numel = le.Uint64(b[4:])
	t.offset = le.Uint64(b[12:])
	t.shape = b[shapeAt:lengthAt]
	t.name = b[nameAt:size]
	return t, size
}

var le = binary.LittleEndian

// headerV1 reads the header from the checksum on.
func (p *parser) headerV1() (tensors, entries int) {
	r := &p.r
	p.stored = r.U32("checksum")
	numTensors := r.U32("num_tensors")
	numEntries := r.U32("num_meta_kv")
	aux := r.U32("aux")
	if aux != 0 {
		r.Bad(format.ErrCorrupt, "reserved bits are set: %#x", aux)
	}
	r.Fits("num_meta_kv", uint64(numEntries), minMetadata)
	p.fitsTensors("num_tensors", numTensors, minTensor)
	return int(numTensors), int(numEntries)
}

// entryV1 is a metadata record.
type entryV1 struct {
	kind    uint32
	payload uint64
	key     []byte
}

// decodeEntry decodes a metadata record that skipEntry has read, and returns its size. It is entry
// without the names of the fields.
func decodeEntry(b []byte) (e entryV1, size int) {
	size = metadataHead + int(le.Uint32(b[12:]))
	e.kind = le.Uint32(b)
	e.payload = le.Uint64(b[4:])
	e.key = b[metadataHead:size]
	return e, size
}

// entry reads a metadata record. It is for errors, whose fields have the names here.
func (p *parser) entry() (e entryV1) {
	r := &p.r
	e.kind = r.U32("metadata aux")
	e.payload = r.U64("metadata payload")
	length := r.U32("metadata key_length")
	p.checkKeyLength(length)
	e.key = r.Bytes("metadata key", uint64(length))
	return e
}

// recordV1 reads a tensor record. It is for errors, whose fields have the names here.
func (p *parser) recordV1() (t record) {
	r := &p.r
	t.at = r.Offset()
	t.code = r.U8("tensor dtype")
	rank := r.U8("tensor rank") // skipTensor has checked it
	t.aux = r.U16("tensor aux")
	t.numel = r.U64("tensor numel")
	t.offset = r.U64("tensor offset")
	t.shape = r.Uint64s("tensor shape", uint64(rank))
	length := r.U32("tensor key_length")
	p.checkKeyLength(length)
	t.name = r.Bytes("tensor key", uint64(length))
	t.dtype = dtypesV1[t.code]
	return t
}

// skipTensor reads of a tensor record what its size depends on, and checks that.
func (p *parser) skipTensor() (name, rank int) {
	r := &p.r
	r.Skip("tensor dtype", 1)
	rank = int(r.U8("tensor rank"))
	if rank == 0 {
		r.Bad(format.ErrCorrupt, "0, not 1 to 255")
	}
	r.Skip("tensor aux", 2+8+8) // and numel, offset
	r.Skip("tensor shape", 8*uint64(rank))
	name = p.skipKey("tensor key_length", "tensor key")
	return name, rank
}

// skipEntry reads of a metadata record what its size depends on.
func (p *parser) skipEntry() {
	p.r.Skip("metadata aux", 4+8) // and payload
	p.skipKey("metadata key_length", "metadata key")
}

func (p *parser) skipKey(lengthField, field string) (length int) {
	n := p.r.U32(lengthField)
	p.checkKeyLength(n)
	p.r.Skip(field, uint64(n))
	return int(n)
}

// checkKeyLength checks the length of a key, the field just read.
func (p *parser) checkKeyLength(n uint32) {
	if n == 0 || n > maxKey {
		p.r.Bad(format.ErrCorrupt, "%d; keys have 1 to %d bytes", n, maxKey)
	}
}

// addV1 checks the record that was just read and lists its tensor.
func (p *parser) addV1(t *record) {
	if t.aux != 0 {
		p.bad(t, "tensor aux", format.ErrCorrupt, "reserved bits are set: %#x", t.aux)
	}
	err := driver.CheckName(t.name)
	if err != nil {
		p.locate(t)
		p.r.FailField("tensor key", err)
	}
	err = p.list(t)
	if err != nil {
		p.locate(t)
		p.r.FailField("tensor key", err)
	}
}

// locate reads a record again, since errors need the places of its fields.
func (p *parser) locate(t *record) {
	if t.at > 0 {
		p.r.MoveTo(t.at)
		p.recordV1()
	}
}

// addEntries splits n metadata records from an offset on, which were skipped before, into digests
// and ordinary entries. Writers store digests in the order of the tensors, so it compares each with
// the next tensor before it looks it up.
func (p *parser) addEntries(n int, offset int64) {
	r := &p.r
	f := p.f
	rows := r.Window(offset, f.end)
	at := 0
	next := 0
	known := make(map[string]bool) // the keys of ordinary entries so far
	for range n {
		e, size := decodeEntry(rows[at:])
		r.MoveTo(offset + int64(at)) // for errors
		at += size
		i, named := f.digestOf(e.key, next)
		p.checkEntry(&e, known[string(e.key)] || named && f.digest(i).Kind != driver.NoSum)
		if r.Err() != nil {
			return
		}
		if !named || e.kind != metadataInt64 {
			known[string(e.key)] = true
			p.addEntry(&e, offset)
			continue
		}
		if f.digests == nil {
			f.digests = make([]digest, f.index.Len())
		}
		f.digests[i] = digest{e.payload, true}
		f.digested++
		next = i + 1
	}
}

// checkEntry checks the type of a metadata record, and that its key is new.
func (p *parser) checkEntry(e *entryV1, isTwice bool) {
	isKnown := e.kind == metadataInt64 || e.kind == metadataFloat64
	if isKnown && !isTwice {
		return
	}
	r := &p.r
	p.entry()
	if e.kind>>8 != 0 {
		r.BadField("metadata aux", format.ErrCorrupt, "reserved bits are set: %#x", e.kind)
	}
	if !isKnown {
		r.BadRecord("metadata type", format.ErrUnsupported, "unknown type %d", e.kind)
	}
	r.BadField("metadata key", format.ErrCorrupt, "%q occurs twice", e.key)
}

// addEntry adds an ordinary entry to the metadata, whose records begin at an offset.
func (p *parser) addEntry(e *entryV1, offset int64) {
	err := driver.CheckName(e.key)
	if err != nil {
		p.entry()
		p.r.FailField("metadata key", err)
	}
	err = p.opts.Memory.Reserve(int64(metadataHead + len(e.key) + 32))
	if err != nil {
		p.r.Fail("metadata", offset, err)
	}
	entry := schema.Entry{Key: string(e.key), Value: int64(e.payload)}
	if e.kind == metadataFloat64 {
		entry.Value = math.Float64frombits(e.payload)
	}
	p.f.out.Metadata = append(p.f.out.Metadata, entry)
}

// digestOf returns the index of the tensor whose digest has this key; next is the
// likely one.
func (f *parsed) digestOf(key []byte, next int) (i int, ok bool) {
	name, ok := bytes.CutPrefix(key, []byte(digestPrefix))
	if !ok {
		return 0, false
	}
	if next < f.index.Len() && string(name) == f.index.Name(next) {
		return next, true
	}
	return f.index.LookupBytes(name)
}
