package mag

import (
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

func (p *parser) parseV1() {
	p.U32("checksum")
	tensors, entries, aux := p.U32("num_tensors"), p.U32("num_meta_kv"), p.U32("aux")
	if aux != 0 {
		p.Failf("aux", headerSize-4, format.ErrCorrupt, "reserved bits are set: %#x", aux)
	}
	least := headerSize + minMetadata*uint64(entries)
	if size := uint64(p.src.Size()); least > size {
		p.Failf("num_meta_kv", headerSize-8, format.ErrTruncated, "%d entries take at least %d bytes; the file has %d", entries, least-headerSize, size)
	}
	p.expect("num_tensors", headerSize-12, tensors, least+minTensor*uint64(tensors))
	for left := int(entries); p.next(left); left-- {
		p.key("metadata key", p.Bytes("metadata record", metadataHead))
	}
	metaEnd, dims := int(p.Offset()), 0
	for left := int(tensors); p.next(left); left-- {
		dims += p.skipTensor()
	}
	p.finish(int(tensors), int(p.Offset())-metaEnd-int(tensors)*(tensorHead+4)-8*dims, dims)
	for at := metaEnd; at < len(p.b) && p.Err() == nil; {
		keyAt := at + tensorHead + 8*int(p.b[at+1]) + 4
		end := keyAt + int(u32(p.b, keyAt-4))
		if p.b[at+2]|p.b[at+3] != 0 {
			p.Failf("tensor aux", int64(at), format.ErrCorrupt, "reserved bits are set (tensor %q)", p.b[keyAt:end])
		}
		p.tensor(at, p.b[keyAt:end], keyAt)
		at = end
	}
	if p.Err() == nil {
		p.readMetadata(p.b[:metaEnd])
	}
}

// skipTensor skips a tensor record and returns its rank.
func (p *parser) skipTensor() (rank int) {
	head := p.Bytes("tensor record", tensorHead)
	if head == nil {
		return 0
	}
	if rank = int(head[1]); rank == 0 {
		p.Failf("tensor rank", p.Offset()-tensorHead+1, format.ErrCorrupt, "0; the least is 1")
	}
	p.key("tensor key", p.Bytes("tensor shape", 8*uint64(rank)+4))
	return rank
}

// key skips a key. before ends with its length and is nil after a failure.
func (p *parser) key(field string, before []byte) {
	if before == nil {
		return
	}
	n := u32(before, len(before)-4)
	if n == 0 || n > maxKey {
		p.Failf(field+"_length", p.Offset()-4, format.ErrCorrupt, "%d; keys have 1 to %d bytes", n, maxKey)
	}
	p.Bytes(field, uint64(n))
}

// readMetadata splits the metadata records in b into digests and ordinary entries.
// Writers store digests in the order of the tensors, so it compares each with the
// next tensor before it looks it up.
func (p *parser) readMetadata(b []byte) {
	next := 0
	known := make(map[string]bool) // the keys of ordinary entries so far
	for at := headerSize; at < len(b) && p.Err() == nil; {
		start, kind, bits := int64(at), u32(b, at), u64(b, at+4)
		key := b[at+metadataHead:][:u32(b, at+metadataHead-4)]
		keyAt := start + metadataHead
		at += metadataHead + len(key)
		if kind>>8 != 0 {
			p.Failf("metadata aux", start, format.ErrCorrupt, "reserved bits are set: %#x", kind)
		}
		if kind != metadataInt64 && kind != metadataFloat64 {
			p.Failf("metadata type", start, format.ErrUnsupported, "unknown type %d", kind)
		}
		i, named := p.digestOf(key, next)
		if named && p.digest(i).Kind != driver.NoSum || known[string(key)] {
			p.Failf("metadata key", keyAt, format.ErrCorrupt, "%q occurs twice", key)
		}
		if named && kind == metadataInt64 {
			if p.digests == nil {
				p.digests = make([]digest, p.index.Len())
			}
			p.digests[i] = digest{bits, true}
			p.digested++
			next = i + 1
			continue
		}
		if err := driver.CheckName(key); err != nil {
			p.Fail("metadata key", keyAt, err)
		}
		if err := p.opts.Memory.Reserve(int64(metadataHead + len(key) + 32)); err != nil {
			p.Fail("metadata", headerSize, err)
		}
		e := plan.Entry{Key: string(key), Value: int64(bits)}
		if kind == metadataFloat64 {
			e.Value = math.Float64frombits(bits)
		}
		known[e.Key] = true
		p.Metadata = append(p.Metadata, e)
	}
}

// digestOf returns the index of the tensor whose digest has this key; next is the
// likely one.
func (f *parsed) digestOf(key []byte, next int) (i int, ok bool) {
	if len(key) <= len(digestPrefix) || string(key[:len(digestPrefix)]) != digestPrefix {
		return 0, false
	}
	name := key[len(digestPrefix):]
	if next < f.index.Len() && string(name) == f.index.Name(next) {
		return next, true
	}
	return f.index.LookupBytes(name)
}
