package mag

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

func (p *parser) parseSnapshot() {
	if size := p.src.Size(); size < snapHeader+4 {
		p.Failf("string pool", snapHeader, format.ErrTruncated, "the file has %d bytes", size)
	}
	p.stamp = p.U64("timestamp")
	p.U32("checksum")
	p.U32("aux")
	metadata, tensors := p.U32("metadata_map_len"), p.U32("tensor_count")
	if m := p.Bytes("string pool", uint64(len(markerPool))); m != nil && string(m) != markerPool {
		p.Failf("version", 4, format.ErrVersion, "100 without %q at byte 32: a development build wrote this, and its dtype codes are ambiguous", markerPool)
	}
	if metadata != 0 {
		p.Failf("metadata_map_len", 24, format.ErrUnsupported, "%d; no layout is known for the entries", metadata)
	}
	p.expect("tensor_count", 28, tensors, snapSmallest+(4+1+snapDescriptor+1)*uint64(tensors)) // offset, name, descriptor and data of each
	p.next(int(tensors))
	pool := p.pool()
	p.mark("marker "+markerMetadata, markerMetadata, format.ErrCorrupt)
	p.mark("marker "+markerDescriptors, markerDescriptors, format.ErrCorrupt)
	first, dims := int(p.Offset()), 0
	for left := int(tensors); p.next(left); left-- {
		dims += p.skipDescriptor(pool.count)
	}
	end := int(p.Offset())
	p.mark("marker "+markerBuffer, markerBuffer, format.ErrCorrupt)
	p.finish(int(tensors), pool.size, dims)
	if p.Err() == nil {
		p.checkPool(&pool)
	}
	for at := first; at < end && p.Err() == nil; at += snapDescriptor + 8*int(p.b[at]) {
		from, to := pool.place(int(u32(p.b, at+4)))
		p.tensor(at, pool.text[from:to], at+4)
	}
	if size := p.src.Size(); size != p.dataEnd {
		p.Failf("data", p.dataEnd, format.ErrCorrupt, "the tensors end here, the file has %d bytes", size)
	}
}

// pool is the string pool.
type pool struct {
	at, count int    // of the strings: where the table of count+1 offsets of 32 bits begins
	size      int    // of all strings, in bytes
	offsets   []byte // the table
	text      []byte // the strings
}

// place returns the range of string id in the text.
func (p *pool) place(id int) (from, to int) {
	return int(u32(p.offsets, 4*id)), int(u32(p.offsets, 4*id+4))
}

// pool skips the string pool.
func (p *parser) pool() (s pool) {
	count := p.U32("string pool count")
	if count > snapMaxStrings {
		p.Failf("string pool count", p.Offset()-4, format.ErrCorrupt, "%d strings, at most %d are possible", count, snapMaxStrings)
	}
	s.at, s.count = int(p.Offset()), int(count)
	offsets := p.Bytes("string pool offsets", 4*uint64(s.count+1))
	if offsets == nil {
		return s
	}
	size := u32(offsets, 4*s.count)
	if size > snapMaxBlob {
		p.Failf("string pool offsets", p.Offset()-4, format.ErrCorrupt, "%d bytes of strings, at most %d are possible", size, snapMaxBlob)
	}
	s.size = int(size)
	p.Bytes("string pool", uint64(size))
	return s
}

// checkPool checks that every string, used or not, is a valid and unique key.
func (p *parser) checkPool(s *pool) {
	textAt := s.at + 4*(s.count+1)
	s.offsets, s.text = p.b[s.at:textAt], p.b[textAt:][:s.size]
	if first := u32(s.offsets, 0); first != 0 {
		p.Failf("string pool offsets", int64(s.at), format.ErrCorrupt, "begin with %d, not 0", first)
	}
	text := string(s.text)
	known := make(map[string]bool, s.count)
	for id := 0; id < s.count && p.Err() == nil; id++ {
		from, to := s.place(id)
		if to < from || to > s.size {
			p.Failf("string pool offsets", int64(s.at+4*id+4), format.ErrCorrupt, "%d after %d of %d", to, from, s.size)
			return
		}
		key := text[from:to]
		err := tensor.CheckName(key)
		if err == nil && known[key] {
			err = fmt.Errorf("%w: %q occurs twice", format.ErrCorrupt, key)
		}
		if err != nil {
			p.Fail("string pool", int64(textAt+from), fmt.Errorf("string %d: %w", id, err))
		}
		known[key] = true
	}
}

// skipDescriptor skips a descriptor and returns its rank.
func (p *parser) skipDescriptor(strings int) (rank int) {
	at := p.Offset()
	head := p.Bytes("tensor descriptor", snapDescriptor)
	if head == nil {
		return 0
	}
	rank, id := int(head[0]), u32(head, 4)
	if rank > snapMaxRank {
		p.Failf("tensor rank", at, format.ErrCorrupt, "%d; the most is %d", rank, snapMaxRank)
	}
	p.Bytes("tensor shape", 8*uint64(rank))
	if uint64(id) >= uint64(strings) {
		p.Failf("tensor key_id", at+4, format.ErrCorrupt, "%d, the pool has %d strings", id, strings)
	}
	return rank
}
