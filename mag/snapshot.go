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
	p.skipPool()
	p.mark("marker "+markerMetadata, markerMetadata, format.ErrCorrupt)
	p.mark("marker "+markerDescriptors, markerDescriptors, format.ErrCorrupt)
	p.records(int(tensors))
	if size := p.src.Size(); size != p.dataEnd {
		p.Failf("data", p.dataEnd, format.ErrCorrupt, "the tensors end here, the file has %d bytes", size)
	}
}

// pool is the string pool.
type pool struct {
	table, count, size int // the offset of count+1 offsets of 32 bits, and of the strings behind them in bytes
}

// at returns where in the structural part string id begins. The last one ends at that of count.
func (s *pool) at(b []byte, id int) int { return s.text() + int(u32(b, s.table+4*id)) }

func (s *pool) text() int { return s.table + 4*(s.count+1) }

// skipPool skips the string pool.
func (p *parser) skipPool() {
	count := p.U32("string pool count")
	if count > snapMaxStrings {
		p.Failf("string pool count", p.Offset()-4, format.ErrCorrupt, "%d strings, at most %d are possible", count, snapMaxStrings)
	}
	p.pool = &pool{table: int(p.Offset()), count: int(count)}
	offsets := p.Bytes("string pool offsets", 4*uint64(count)+4)
	if offsets == nil {
		return
	}
	size := u32(offsets, 4*p.pool.count)
	if size > snapMaxBlob {
		p.Failf("string pool offsets", p.Offset()-4, format.ErrCorrupt, "%d bytes of strings, at most %d are possible", size, snapMaxBlob)
	}
	p.pool.size = int(size)
	p.Bytes("string pool", uint64(size))
}

// checkPool checks that every string, used or not, is a valid and unique key.
func (p *parser) checkPool() {
	s, begin := p.pool, p.pool.text()
	if first := u32(p.b, s.table); first != 0 {
		p.Failf("string pool offsets", int64(s.table), format.ErrCorrupt, "begin with %d, not 0", first)
	}
	text := string(p.b[begin:][:s.size])
	known := make(map[string]bool, s.count)
	for id := 0; id < s.count && p.Err() == nil; id++ {
		from, to := s.at(p.b, id)-begin, s.at(p.b, id+1)-begin
		if to < from || to > s.size {
			p.Failf("string pool offsets", int64(s.table+4*id+4), format.ErrCorrupt, "%d after %d of %d", to, from, s.size)
			return
		}
		key := text[from:to]
		err := tensor.CheckName(key)
		if err == nil && known[key] {
			err = fmt.Errorf("%w: %q occurs twice", format.ErrCorrupt, key)
		}
		if err != nil {
			p.Fail("string pool", int64(begin+from), fmt.Errorf("string %d: %w", id, err))
		}
		known[key] = true
	}
}
