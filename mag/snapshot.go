package mag

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parseSnapshot reads a snapshot container from the timestamp on.
func (p *parser) parseSnapshot() {
	r := &p.r
	tensors := p.headerSnapshot()
	s := p.readPool()
	p.marker(markerMetadata)
	p.marker(markerDescriptors)
	tensorsAt := r.Offset()
	dims := 0
	for range r.Records("", tensors, typicalRecord) {
		t := p.recordSnapshot(&s)
		dims += t.shape.Len()
	}
	p.marker(markerBuffer)
	p.endStructure()
	p.checkPool(&s)
	if r.Err() != nil {
		return
	}
	p.f.index.Grow(tensors, len(s.text), dims)
	r.MoveTo(tensorsAt)
	for range r.Records("", tensors, typicalRecord) {
		t := p.recordSnapshot(&s)
		p.addSnapshot(&t)
	}
	size := p.f.src.Size()
	if size != p.f.dataEnd {
		err := fmt.Errorf("%w: the tensors end here, the file has %d bytes", format.ErrCorrupt, size)
		r.Fail("data", p.f.dataEnd, err)
	}
}

// headerSnapshot reads the header from the timestamp on, and the marker that tells snapshots from
// what development builds wrote.
func (p *parser) headerSnapshot() (tensors int) {
	r := &p.r
	p.f.stamp = r.U64("timestamp")
	p.stored = r.U32("checksum")
	r.U32("aux")
	metadata := r.U32("metadata_map_len")
	numTensors := r.U32("tensor_count")
	marker := r.Bytes("string pool", uint64(len(markerPool)))
	if string(marker) != markerPool {
		r.BadField("version", format.ErrVersion,
			"100 without %q at byte 32: a development build wrote this, and its dtype codes are ambiguous",
			markerPool)
	}
	if metadata != 0 {
		r.BadField("metadata_map_len", format.ErrUnsupported, "%d; no layout is known for the entries",
			metadata)
	}
	p.fitsTensors("tensor_count", numTensors, snapMinTensor)
	r.Fits("tensor_count", 1, snapRest)
	return int(numTensors)
}

// marker reads a marker between two sections.
func (p *parser) marker(text string) { p.r.Text("marker "+text, text, format.ErrCorrupt) }

// pool is the string pool.
type pool struct {
	offsets   wire.Uint32s // 0, then the end of each string
	text      []byte
	offsetsAt int64 // file offsets
	textAt    int64
}

// count returns the number of strings.
func (s *pool) count() int { return max(0, s.offsets.Len()-1) }

// name returns a string of the pool, nil if the offsets, which are checked later, are wrong.
func (s *pool) name(id int) []byte {
	from := s.offsets.At(id)
	to := s.offsets.At(id + 1)
	if from > to || uint64(to) > uint64(len(s.text)) {
		return nil
	}
	return s.text[from:to]
}

// readPool reads the string pool behind its marker.
func (p *parser) readPool() (s pool) {
	r := &p.r
	count := r.U32("string pool count")
	if count > snapMaxStrings {
		r.Bad(format.ErrCorrupt, "%d strings, at most %d are possible", count, snapMaxStrings)
	}
	s.offsetsAt = r.Offset()
	s.offsets = r.Uint32s("string pool offsets", uint64(count)+1)
	size := s.offsets.At(int(count))
	if size > snapMaxBlob {
		r.BadItem("string pool offsets", int(count), format.ErrCorrupt,
			"%d bytes of strings, at most %d are possible", size, snapMaxBlob)
	}
	s.textAt = r.Offset()
	s.text = r.Bytes("string pool strings", uint64(size))
	return s
}

// checkPool checks that every string, used or not, is a valid and unique key.
func (p *parser) checkPool(s *pool) {
	if p.r.Err() != nil {
		return
	}
	first := s.offsets.At(0)
	if first != 0 {
		p.r.Fail("string pool offsets", s.offsetsAt,
			fmt.Errorf("%w: begin with %d, not 0", format.ErrCorrupt, first))
	}
	text := string(s.text)
	known := make(map[string]bool, s.count())
	for id := range s.count() {
		from := s.offsets.At(id)
		to := s.offsets.At(id + 1)
		if to < from || uint64(to) > uint64(len(text)) {
			err := fmt.Errorf("%w: %d after %d of %d", format.ErrCorrupt, to, from, len(text))
			p.r.Fail("string pool offsets", s.offsetsAt+4*int64(id)+4, err)
			return
		}
		key := text[from:to]
		err := checkKey(key, known)
		if err != nil {
			p.r.Fail("string pool strings", s.textAt+int64(from), fmt.Errorf("string %d: %w", id, err))
			return
		}
		known[key] = true
	}
}

// checkKey refuses a string that is no key or one of those that are known.
func checkKey(key string, known map[string]bool) error {
	err := tensor.CheckName(key)
	if err != nil {
		return err
	}
	if known[key] {
		return fmt.Errorf("%w: %q occurs twice", format.ErrCorrupt, key)
	}
	return nil
}

func (p *parser) recordSnapshot(s *pool) (t record) {
	r := &p.r
	rank := r.U8("tensor rank")
	if rank > snapMaxRank {
		r.Bad(format.ErrCorrupt, "%d, not 0 to %d", rank, snapMaxRank)
	}
	t.code = r.U8("tensor dtype")
	r.U8("tensor aux0")
	r.U8("tensor aux1")
	id := r.U32("tensor key_id")
	if uint64(id) >= uint64(s.count()) {
		r.Bad(format.ErrCorrupt, "%d, the pool has %d strings", id, s.count())
	}
	t.numel = r.U64("tensor numel")
	t.offset = r.U64("tensor offset")
	t.shape = r.Uint64s("tensor shape", uint64(rank))
	t.dtype = dtypesSnapshot[t.code]
	t.name = s.name(int(id))
	return t
}

// addSnapshot checks the descriptor that was just read and lists its tensor.
func (p *parser) addSnapshot(t *record) {
	before := uint64(p.f.dataEnd - p.f.end)
	if t.offset != before {
		p.bad(t, "tensor offset", format.ErrCorrupt, "%d, the tensors before end at %d", t.offset, before)
	}
	t.offset = uint64(p.f.dataEnd)
	err := p.list(t)
	if err != nil {
		p.r.FailField("tensor key_id", err)
	}
}
