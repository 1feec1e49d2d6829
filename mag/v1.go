package mag

import (
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// extent is what a first walk over the records of version 1 finds, so that the
// second can fill in memory of exactly the right size.
type extent struct {
	tensors  int
	metadata int
	metaEnd  int // offset of the first tensor record
	end      int // offset behind the last one
	names    int // bytes of all tensor keys
	dims     int // of all tensors
	plain    int // metadata records that cannot be digests
	plainLen int // their bytes

	metaLeft, left int // records that were not measured yet
}

func (f *parsed) parseV1(h *driver.Head, head []byte, o *driver.Options) error {
	x, err := f.readHeader(head)
	if err != nil {
		return err
	}
	b, err := f.grow(h, x)
	if err != nil {
		return err
	}
	b = b[:x.end]
	f.end, f.dataEnd = int64(x.end), int64(x.end)
	if o.Check.Sums() {
		if f.form, err = checkV1(b); err != nil {
			return err
		}
	}
	f.index.Version = versionV1
	f.index.Grow(x.tensors, x.names, x.dims)
	var t driver.Tensor
	for at := x.metaEnd; at < x.end; {
		n := tensorHead + 8*int(b[at+1]) + 4
		n += int(u32(b, at+n-4))
		if err := f.readTensor(b[at:at+n:at+n], int64(at), &t); err != nil {
			return err
		}
		at += n
	}
	// Keys and values of metadata.
	if err := o.Memory.Reserve(int64(x.plainLen + 32*x.plain)); err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	return f.readMetadata(b, x)
}

// readHeader reads the counts from the first bytes of the file.
func (f *parsed) readHeader(head []byte) (*extent, error) {
	c := wire.NewCursor(formatName, head, 0)
	c.Seek("header", checksumOffset)
	c.U32("checksum")
	tensors, metadata, aux := c.U32("num_tensors"), c.U32("num_meta_kv"), c.U32("aux")
	if c.Err() != nil {
		return nil, c.Err()
	}
	if aux != 0 {
		return nil, wire.Errorf(formatName, "aux", headerAuxOffset, format.ErrCorrupt, "reserved bits are set: %#x", aux)
	}
	least, size := headerSize+minMetadata*uint64(metadata), f.src.Size()
	if least > uint64(size) {
		return nil, wire.Errorf(formatName, "num_meta_kv", metadataCountAt, format.ErrTruncated, "%d entries take at least %d bytes; the file has %d", metadata, least-headerSize, size)
	}
	if err := f.checkCount("num_tensors", checksummedFrom, tensors, least+minTensor*uint64(tensors)); err != nil {
		return nil, err
	}
	return &extent{tensors: int(tensors), metadata: int(metadata), metaLeft: int(metadata), left: int(tensors), end: headerSize}, nil
}

// measure implements measurer. It checks nothing but where the records end.
func (x *extent) measure(c *wire.Cursor, all bool) {
	for c.Seek("header", int64(x.end)); x.metaLeft > 0; x.metaLeft-- {
		rec := take(c, "metadata record", metadataHead, all)
		if rec == nil {
			return
		}
		key := keyOf(c, "metadata key", u32(rec, metadataKeyLength), all)
		if key == nil {
			return
		}
		if rec[0] != metadataInt64 || !isDigestKey(key) {
			x.plain++
			x.plainLen += metadataHead + len(key)
		}
		x.end = int(c.Offset())
	}
	if x.left == x.tensors {
		x.metaEnd = x.end
	}
	for ; x.left > 0; x.left-- {
		at := c.Offset()
		rec := take(c, "tensor record", tensorHead, all)
		if rec == nil {
			return
		}
		rank := uint64(rec[1])
		if rank == 0 {
			c.Failf("tensor rank", at+1, format.ErrCorrupt, "0; the least is 1")
		}
		shape := take(c, "tensor shape", 8*rank+4, all)
		if shape == nil {
			return
		}
		key := keyOf(c, "tensor key", u32(shape, len(shape)-4), all)
		if key == nil {
			return
		}
		x.dims += int(rank)
		x.names += len(key)
		x.end = int(c.Offset())
	}
}

// keyOf returns the key of n bytes that comes next, behind its length.
func keyOf(c *wire.Cursor, field string, n uint32, all bool) []byte {
	if n == 0 || n > maxKey {
		c.Failf(field+"_length", c.Offset()-4, format.ErrCorrupt, "%d; keys have 1 to %d bytes", n, maxKey)
		return nil
	}
	return take(c, field, uint64(n), all)
}

// guess implements measurer: records to come are taken to be as long as those
// before them, and a little longer.
func (x *extent) guess() int64 {
	done, records := int64(x.end), int64(x.metadata-x.metaLeft+x.tensors-x.left)
	if records == 0 {
		const usual = 80 // bytes of a record
		return done + usual*int64(x.metadata+x.tensors)
	}
	rest := int64(x.metaLeft + x.left)
	return done + rest*(done/records) + rest*8 + 64
}

// readTensor adds the tensor of the record rec, which lies at offset at. t is scratch space.
func (f *parsed) readTensor(rec []byte, at int64, t *driver.Tensor) error {
	dims := 8 * int(rec[1])
	r := record{
		at: at, key: rec[tensorHead+dims+4:],
		dtype: rec[0], dtypesKnown: dtypesV1[:],
		dims: rec[tensorHead:][:dims], dimsAt: tensorHead,
		numel: u64(rec, 4), numelAt: 4,
	}
	if rec[2]|rec[3] != 0 {
		return r.bad("tensor aux", 0, format.ErrCorrupt, "reserved bits are set")
	}
	if err := r.setDType(t); err != nil {
		return err
	}
	keyAt := int64(len(rec) - len(r.key))
	if err := driver.CheckName(r.key); err != nil {
		return wire.Error(formatName, "tensor key", at+keyAt, err)
	}
	if err := r.setShape(t, f.index); err != nil {
		return err
	}
	offset, size := u64(rec, 12), uint64(f.src.Size())
	if offset > size || uint64(t.Size) > size-offset {
		return r.bad("tensor offset", 12, format.ErrTruncated, "%d bytes at %d, the file has %d", t.Size, offset, size)
	}
	if t.Offset = int64(offset); t.Offset < f.end {
		return r.bad("tensor offset", 12, format.ErrCorrupt, "%d lies inside header and records, which end at %d", offset, f.end)
	}
	if err := f.index.Add(t); err != nil {
		return wire.Error(formatName, "tensor key", at+keyAt, err)
	}
	f.dataEnd = max(f.dataEnd, t.Offset+t.Size)
	return nil
}

// What the metadata holds under "xxh64/" and the key of a tensor.
const (
	namedDigest = 1 // an int64: the digest of its data
	namedPlain  = 2 // something else, which is ordinary metadata
)

func isDigestKey(key []byte) bool {
	return len(key) > len(digestPrefix) && string(key[:len(digestPrefix)]) == digestPrefix
}

// readMetadata sorts the metadata into digests and ordinary entries. Writers
// put digests in the order of the tensors, so each is first compared with the key
// of the tensor that is next; only others are looked up.
func (f *parsed) readMetadata(b []byte, x *extent) error {
	next, twice := 0, ""
	var last map[string]int64 // offset of the last record of each ordinary key
	for at := headerSize; at < x.metaEnd; {
		key := b[at+metadataHead:][:u32(b, at+metadataKeyLength)]
		kind, bits := b[at], u64(b, at+4)
		keyAt := int64(at + metadataHead)
		if u32(b, at)>>8 != 0 {
			return wire.Errorf(formatName, "metadata aux", int64(at), format.ErrCorrupt, "reserved bits are set: %#x", u32(b, at))
		}
		if kind != metadataInt64 && kind != metadataFloat64 {
			return wire.Errorf(formatName, "metadata type", int64(at), format.ErrUnsupported, "unknown type %d", kind)
		}
		at += metadataHead + len(key)
		if i, ok := f.digestOf(key, next); ok {
			if f.named == nil {
				f.digests, f.named = make([]uint64, f.index.Len()), make([]byte, f.index.Len())
			}
			if f.named[i] != 0 {
				return wire.Errorf(formatName, "metadata key", keyAt, format.ErrCorrupt, "%q occurs twice", key)
			}
			f.named[i] = namedPlain
			if kind == metadataInt64 {
				f.named[i], f.digests[i], next = namedDigest, bits, i+1
				continue
			}
		}
		if err := driver.CheckName(key); err != nil {
			return wire.Error(formatName, "metadata key", keyAt, err)
		}
		e := driver.Entry{Key: string(key), Value: int64(bits)}
		if kind == metadataFloat64 {
			e.Value = math.Float64frombits(bits)
		}
		if last == nil {
			last = make(map[string]int64, x.plain)
			f.meta = make(driver.Metadata, 0, x.plain)
		}
		if _, known := last[e.Key]; known && twice == "" {
			twice = e.Key
		}
		last[e.Key] = keyAt
		f.meta = append(f.meta, e)
	}
	if twice != "" {
		return wire.Errorf(formatName, "metadata key", last[twice], format.ErrCorrupt, "%q occurs twice", twice)
	}
	return nil
}

// digestOf returns the tensor whose digest would have this key. next is a guess.
func (f *parsed) digestOf(key []byte, next int) (i int, ok bool) {
	if !isDigestKey(key) {
		return 0, false
	}
	name := key[len(digestPrefix):]
	if next < f.index.Len() && string(name) == f.index.Name(next) {
		return next, true
	}
	return f.index.LookupBytes(name)
}

// hasDigest reports whether the metadata key of a tensor's digest, digestPrefix and its
// name, is not too long.
func hasDigest(name string) bool { return len(digestPrefix)+len(name) <= maxKey }
