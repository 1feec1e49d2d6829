package mag

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

var recordSnapshot = container{dtypes: dtypesSnapshot[:], dtype: 1, numel: 8, dims: snapDescriptor}

func (f *parsed) parseSnapshot(d *decoder, o *driver.Options) error {
	d.at = snapHeader
	if m := d.next("string pool", len(markerPool)); m != nil && string(m) != markerPool {
		return wire.Errorf(formatName, "version", 4, format.ErrVersion,
			"100 without %q at byte 32: a development build wrote this, and its dtype codes are ambiguous", markerPool)
	}
	d.at = timestampOffset
	f.stamp = uint64(d.u32("timestamp")) | uint64(d.u32("timestamp"))<<32
	d.u32("checksum")
	d.u32("aux")
	metadata, tensors := d.u32("metadata_map_len"), d.u32("tensor_count")
	if d.err != nil {
		return d.err
	}
	if metadata != 0 {
		return wire.Errorf(formatName, "metadata_map_len", 24, format.ErrUnsupported, "%d; no layout is known for the entries", metadata)
	}
	least := snapSmallest + (4+1+snapDescriptor+1)*uint64(tensors) // offset, name, descriptor and data of each
	if err := d.expect("tensor_count", 28, tensors, least); err != nil {
		return err
	}
	d.left = int(tensors)

	d.at = snapHeader + len(markerPool)
	p := d.pool()
	d.mark(markerMetadata)
	d.mark(markerDescriptors)
	first, dims := d.at, 0
	for ; d.left > 0 && d.err == nil; d.left-- {
		dims += d.descriptor(p.count)
	}
	end := d.at
	d.mark(markerBuffer)
	if d.err != nil {
		return d.err
	}
	b := d.b[:d.at]
	p.b = b
	if o.Check.Sums() {
		if err := checkSnapshot(b); err != nil {
			return err
		}
	}
	if err := p.check(); err != nil {
		return err
	}

	f.snapshot, f.end, f.dataEnd = true, int64(d.at), int64(d.at)
	f.index.Version = versionSnapshot
	f.index.Grow(int(tensors), p.size, dims)
	r := record{container: &recordSnapshot}
	for r.at = first; r.at < end; r.at += len(r.b) {
		if err := f.readDescriptor(&p, &r); err != nil {
			return err
		}
	}
	if d.size != f.dataEnd {
		return wire.Errorf(formatName, "data", f.dataEnd, format.ErrCorrupt, "the tensors end here, the file has %d bytes", d.size)
	}
	return nil
}

// pool is the string pool.
type pool struct {
	b     []byte // the structural part of the file
	at    int    // offset of the table of count+1 offsets of 32 bits
	text  int    // offset of the strings
	size  int    // of all strings, in bytes
	count int
}

// pool skips the string pool and returns its location.
func (d *decoder) pool() (p pool) {
	count := d.u32("string pool count")
	if count > snapMaxStrings {
		d.fail("string pool count", d.at-4, format.ErrCorrupt, "%d strings, at most %d are possible", count, snapMaxStrings)
		return p
	}
	p.at, p.count = d.at, int(count)
	offsets := d.next("string pool offsets", 4*(p.count+1))
	if offsets == nil {
		return p
	}
	size := u32(offsets, 4*p.count)
	if size > snapMaxBlob {
		d.fail("string pool offsets", d.at-4, format.ErrCorrupt, "%d bytes of strings, at most %d are possible", size, snapMaxBlob)
		return p
	}
	p.text, p.size = d.at, int(size)
	d.next("string pool", p.size)
	return p
}

// descriptor skips a descriptor and returns its rank.
func (d *decoder) descriptor(strings int) (rank int) {
	at := d.at
	head := d.next("tensor descriptor", snapDescriptor)
	if head == nil {
		return 0
	}
	rank, id := int(head[0]), u32(head, 4)
	if rank > snapMaxRank {
		d.fail("tensor rank", at, format.ErrCorrupt, "%d; the most is %d", rank, snapMaxRank)
	}
	d.next("tensor shape", 8*rank)
	if uint64(id) >= uint64(strings) {
		d.fail("tensor key_id", at+4, format.ErrCorrupt, "%d, the pool has %d strings", id, strings)
	}
	return rank
}

// place returns the range of string id in the text.
func (p *pool) place(id int) (from, to int) {
	return int(u32(p.b, p.at+4*id)), int(u32(p.b, p.at+4*id+4))
}

// check checks that every string, used or not, is a valid and unique key.
func (p *pool) check() error {
	if first, _ := p.place(0); first != 0 {
		return wire.Errorf(formatName, "string pool offsets", int64(p.at), format.ErrCorrupt, "begin with %d, not 0", first)
	}
	text := string(p.b[p.text:][:p.size])
	known := make(map[string]bool, p.count)
	for id := range p.count {
		from, to := p.place(id)
		if to < from || to > p.size {
			return wire.Errorf(formatName, "string pool offsets", int64(p.at+4*id+4), format.ErrCorrupt, "%d after %d of %d", to, from, p.size)
		}
		key, at := text[from:to], int64(p.text+from)
		if err := tensor.CheckName(key); err != nil {
			return wire.Error(formatName, "string pool", at, fmt.Errorf("string %d: %w", id, err))
		}
		if known[key] {
			return wire.Errorf(formatName, "string pool", at, format.ErrCorrupt, "string %d, %q, occurs twice", id, key)
		}
		known[key] = true
	}
	return nil
}

// readDescriptor adds the tensor of the descriptor at r.at to the index.
func (f *parsed) readDescriptor(p *pool, r *record) error {
	rank, t := int(p.b[r.at]), &r.tensor
	r.b, r.keyAt = p.b[r.at:][:snapDescriptor+8*rank], r.at+4
	from, to := p.place(int(u32(r.b, 4)))
	t.Name = p.b[p.text:][from:to]
	if err := r.decode(rank, f.index); err != nil {
		return err
	}
	t.Offset = f.dataEnd
	if offset := u64(r.b, 16); offset != uint64(t.Offset-f.end) {
		return r.bad("tensor offset", 16, format.ErrCorrupt, "%d, the tensors before end at %d", offset, t.Offset-f.end)
	}
	if left := f.src.Size() - t.Offset; t.Size > left {
		return r.bad("tensor data", 16, format.ErrTruncated, "%d bytes at %d, %d are left", t.Size, t.Offset, left)
	}
	if err := f.index.Add(t); err != nil {
		return wire.Error(formatName, "tensor key_id", int64(r.keyAt), err)
	}
	f.dataEnd += t.Size
	return nil
}
