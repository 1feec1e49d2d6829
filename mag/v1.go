package mag

import (
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

var recordV1 = container{dtypes: dtypesV1[:], dtype: 0, numel: 4, dims: tensorHead}

func (f *parsed) parseV1(d *decoder, o *driver.Options) error {
	d.at = checksumOffset
	d.u32("checksum")
	tensors, entries, aux := d.u32("num_tensors"), d.u32("num_meta_kv"), d.u32("aux")
	if d.err != nil {
		return d.err
	}
	if aux != 0 {
		return wire.Errorf(formatName, "aux", headerAuxOffset, format.ErrCorrupt, "reserved bits are set: %#x", aux)
	}
	least := headerSize + minMetadata*uint64(entries)
	if least > uint64(d.size) {
		return wire.Errorf(formatName, "num_meta_kv", metadataCountAt, format.ErrTruncated, "%d entries take at least %d bytes; the file has %d", entries, least-headerSize, d.size)
	}
	if err := d.expect("num_tensors", checksummedFrom, tensors, least+minTensor*uint64(tensors)); err != nil {
		return err
	}
	d.left = int(entries) + int(tensors)

	// This pass finds the end of the records, which the checksum needs.
	for range entries {
		d.key("metadata key", d.next("metadata record", metadataHead))
		if d.left--; d.err != nil {
			return d.err
		}
	}
	metaEnd, names, dims := d.at, 0, 0
	for range tensors {
		rank := d.tensorRecord()
		if d.left--; d.err != nil {
			return d.err
		}
		dims += rank
	}
	names = d.at - metaEnd - int(tensors)*(tensorHead+4) - 8*dims
	b := d.b[:d.at]
	f.end, f.dataEnd = int64(d.at), int64(d.at)
	var err error
	if o.Check.Sums() {
		if f.form, err = checkV1(b); err != nil {
			return err
		}
	}

	f.index.Version = versionV1
	f.index.Grow(int(tensors), names, dims)
	r := record{container: &recordV1}
	for at := metaEnd; at < len(b); {
		if at, err = f.readTensor(b, at, &r); err != nil {
			return err
		}
	}
	return f.readMetadata(b[:metaEnd], o)
}

// tensorRecord skips a tensor record and returns its rank.
func (d *decoder) tensorRecord() (rank int) {
	head := d.next("tensor record", tensorHead)
	if head == nil {
		return 0
	}
	if rank = int(head[1]); rank == 0 {
		d.fail("tensor rank", d.at-tensorHead+1, format.ErrCorrupt, "0; the least is 1")
	}
	d.key("tensor key", d.next("tensor shape", 8*rank+4))
	return rank
}

// key skips a key. before ends with its length and is nil after a failure.
func (d *decoder) key(field string, before []byte) {
	if before == nil {
		return
	}
	n := u32(before, len(before)-4)
	if n == 0 || n > maxKey {
		d.fail(field+"_length", d.at-4, format.ErrCorrupt, "%d; keys have 1 to %d bytes", n, maxKey)
		return
	}
	d.next(field, int(n))
}

// readTensor adds the tensor of the record at b[at:] and returns the end of the record.
func (f *parsed) readTensor(b []byte, at int, r *record) (end int, err error) {
	rank, t := int(b[at+1]), &r.tensor
	r.at, r.keyAt = at, at+tensorHead+8*rank+4
	end = r.keyAt + int(u32(b, r.keyAt-4))
	r.b, t.Name = b[at:r.keyAt], b[r.keyAt:end]
	if r.b[2]|r.b[3] != 0 {
		return 0, r.bad("tensor aux", 0, format.ErrCorrupt, "reserved bits are set")
	}
	if err := r.decode(rank, f.index); err != nil {
		return 0, err
	}
	offset, size := u64(r.b, 12), uint64(f.src.Size())
	if offset > size || uint64(t.Size) > size-offset {
		return 0, r.bad("tensor offset", 12, format.ErrTruncated, "%d bytes at %d, the file has %d", t.Size, offset, size)
	}
	if t.Offset = int64(offset); t.Offset < f.end {
		return 0, r.bad("tensor offset", 12, format.ErrCorrupt, "%d lies inside header and records, which end at %d", offset, f.end)
	}
	if err := f.index.Add(t); err != nil {
		return 0, wire.Error(formatName, "tensor key", int64(r.keyAt), err)
	}
	f.dataEnd = max(f.dataEnd, t.Offset+t.Size)
	return end, nil
}

// digest is the XXH64 of a tensor's data.
type digest struct {
	sum      uint64
	recorded bool
}

// readMetadata splits the metadata records in b into digests and ordinary entries.
// Writers store digests in the order of the tensors, so it compares each with the
// next tensor before it looks it up.
func (f *parsed) readMetadata(b []byte, o *driver.Options) error {
	next := 0
	known := make(map[string]bool) // the keys of ordinary entries so far
	for at := headerSize; at < len(b); {
		start, kind, bits := int64(at), u32(b, at), u64(b, at+4)
		key := b[at+metadataHead:][:u32(b, at+metadataKeyLength)]
		keyAt := start + metadataHead
		at += metadataHead + len(key)
		if kind>>8 != 0 {
			return wire.Errorf(formatName, "metadata aux", start, format.ErrCorrupt, "reserved bits are set: %#x", kind)
		}
		if kind != metadataInt64 && kind != metadataFloat64 {
			return wire.Errorf(formatName, "metadata type", start, format.ErrUnsupported, "unknown type %d", kind)
		}
		i, named := f.digestOf(key, next)
		if named && f.digest(i).Kind != driver.NoSum || known[string(key)] {
			return wire.Errorf(formatName, "metadata key", keyAt, format.ErrCorrupt, "%q occurs twice", key)
		}
		if named && kind == metadataInt64 {
			if f.digests == nil {
				f.digests = make([]digest, f.index.Len())
			}
			f.digests[i] = digest{bits, true}
			f.digested++
			next = i + 1
			continue
		}
		if err := driver.CheckName(key); err != nil {
			return wire.Error(formatName, "metadata key", keyAt, err)
		}
		if err := o.Memory.Reserve(int64(metadataHead + len(key) + 32)); err != nil {
			return wire.Error(formatName, "metadata", headerSize, err)
		}
		e := driver.Entry{Key: string(key), Value: int64(bits)}
		if kind == metadataFloat64 {
			e.Value = math.Float64frombits(bits)
		}
		known[e.Key] = true
		f.Metadata = append(f.Metadata, e)
	}
	return nil
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
