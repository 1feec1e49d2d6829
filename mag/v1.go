package mag

import (
	"bytes"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
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
	metaEnd := p.Offset()
	if p.records(int(tensors)); p.Err() == nil {
		p.readMetadata(p.b[:metaEnd])
	}
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
		e := schema.Entry{Key: string(key), Value: int64(bits)}
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
	name, ok := bytes.CutPrefix(key, []byte(digestPrefix))
	if ok && next < f.index.Len() && string(name) == f.index.Name(next) {
		return next, true
	}
	i, named := f.index.LookupBytes(name)
	return i, ok && named
}
