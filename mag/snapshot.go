package mag

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// snapshot is the structural part of a snapshot container.
type snapshot struct {
	stamp   uint64
	tensors int
	strings int
	offsets []byte // of the pool: 32-bit, one more than strings
	blob    []byte
	poolAt  int // offset of the offset table
	descAt  int // offset of the first descriptor
	descEnd int // offset of "BUF!"
	dims    int
	names   int
}

func (f *parsed) parseSnapshot(h *driver.Head, head []byte, o *driver.Options) error {
	s, err := f.readSnapshotHeader(head)
	if err != nil {
		return err
	}
	b, err := f.grow(h, s)
	if err != nil {
		return err
	}
	if o.Check.Sums() {
		if err := checkSnapshot(b[:s.descEnd]); err != nil {
			return err
		}
	}
	if err := s.checkPool(); err != nil {
		return err
	}
	base := int64(s.descEnd + len(markerBuffer))
	f.snapshot, f.end, f.dataEnd, f.stamp = true, base, base, s.stamp
	f.index.Version = versionSnapshot
	f.index.Grow(s.tensors, s.names, s.dims)
	var t driver.Tensor
	for at := s.descAt; at < s.descEnd; {
		n := snapDescriptor + 8*int(b[at])
		if err := f.readDescriptor(s, b[at:at+n], int64(at), &t); err != nil {
			return err
		}
		at += n
	}
	if size := f.src.Size(); size != f.dataEnd {
		return wire.Errorf(formatName, "data", f.dataEnd, format.ErrCorrupt, "the tensors end here, the file has %d bytes", size)
	}
	return nil
}

// readSnapshotHeader reads the header from the first bytes of the file.
func (f *parsed) readSnapshotHeader(head []byte) (*snapshot, error) {
	c := wire.NewCursor(formatName, head, 0)
	c.Seek("header", timestampOffset)
	stamp := c.U64("timestamp")
	c.U32("checksum")
	c.U32("aux")
	metadata, tensors := c.U32("metadata_map_len"), c.U32("tensor_count")
	if c.Err() != nil {
		return nil, c.Err()
	}
	if metadata != 0 {
		return nil, wire.Errorf(formatName, "metadata_map_len", 24, format.ErrUnsupported, "%d; no layout is known for the entries", metadata)
	}
	least := snapSmallest + (4+1+snapDescriptor+1)*uint64(tensors) // offset, name, descriptor and data of each
	if err := f.checkCount("tensor_count", 28, tensors, least); err != nil {
		return nil, err
	}
	return &snapshot{stamp: stamp, tensors: int(tensors)}, nil
}

// measure implements measurer: it finds the sections.
func (s *snapshot) measure(c *wire.Cursor, all bool) {
	*s = snapshot{stamp: s.stamp, tensors: s.tensors}
	c.Seek("string pool", snapHeader)
	s.measurePool(c, all)
	marker(c, markerMetadata)
	marker(c, markerDescriptors)
	s.descAt = int(c.Offset())
	for i := 0; i < s.tensors && c.Err() == nil; i++ {
		s.measureDescriptor(c, all)
	}
	s.descEnd = int(c.Offset())
	marker(c, markerBuffer)
}

// guess implements measurer: descriptors have a few dims, names some bytes.
func (s *snapshot) guess() int64 {
	return snapSmallest + int64(len(s.blob)) + int64(s.tensors)*(4+snapDescriptor+8*4+32)
}

// measurePool finds the string pool.
func (s *snapshot) measurePool(c *wire.Cursor, all bool) {
	marker(c, markerPool)
	at := c.Offset()
	count := c.U32("string pool count")
	if count > snapMaxStrings {
		c.Failf("string pool count", at, format.ErrCorrupt, "%d strings, at most %d are possible", count, snapMaxStrings)
	}
	s.poolAt = int(c.Offset())
	s.offsets = take(c, "string pool offsets", 4*(uint64(count)+1), all)
	if c.Err() != nil {
		return
	}
	s.strings = int(count)
	size := u32(s.offsets, 4*s.strings)
	if size > snapMaxBlob {
		c.Failf("string pool offsets", int64(s.poolAt+4*s.strings), format.ErrCorrupt, "%d bytes of strings, at most %d are possible", size, snapMaxBlob)
	}
	s.blob = take(c, "string pool", uint64(size), all)
}

// measureDescriptor steps over a descriptor and counts its dims and name bytes.
func (s *snapshot) measureDescriptor(c *wire.Cursor, all bool) {
	at := c.Offset()
	head := take(c, "tensor descriptor", snapDescriptor, all)
	if head == nil {
		return
	}
	rank := int(head[0])
	if rank > snapMaxRank {
		c.Failf("tensor rank", at, format.ErrCorrupt, "%d; the most is %d", rank, snapMaxRank)
	}
	take(c, "tensor shape", 8*uint64(rank), all)
	s.dims += rank
	id := u32(head, 4)
	if uint64(id) >= uint64(s.strings) {
		c.Failf("tensor key_id", at+4, format.ErrCorrupt, "%d, the pool has %d strings", id, s.strings)
		return
	}
	// Offsets that do not ascend are refused later; until then they must not
	// make the sum negative or larger than the pool.
	if from, to := u32(s.offsets, 4*int(id)), u32(s.offsets, 4*int(id)+4); from <= to && to <= uint32(len(s.blob)) {
		s.names = min(s.names+int(to-from), len(s.blob))
	}
}

// marker checks one of the four-byte marks between sections.
func marker(c *wire.Cursor, want string) {
	at := c.Offset()
	if m := c.Bytes("marker "+want, uint64(len(want))); m != nil && string(m) != want {
		c.Failf("marker "+want, at, format.ErrCorrupt, "found %q", m)
	}
}

// key returns string id of the pool.
func (s *snapshot) key(id int) []byte {
	return s.blob[u32(s.offsets, 4*id):u32(s.offsets, 4*id+4)]
}

// checkPool holds every string of the pool to the rules for keys, whether a
// tensor uses it or not.
func (s *snapshot) checkPool() error {
	if first := u32(s.offsets, 0); first != 0 {
		return wire.Errorf(formatName, "string pool offsets", int64(s.poolAt), format.ErrCorrupt, "begin with %d, not 0", first)
	}
	blobAt := int64(s.poolAt + len(s.offsets))
	known := make(map[string]bool, s.strings)
	for id := range s.strings {
		from, to := u32(s.offsets, 4*id), u32(s.offsets, 4*id+4)
		if to < from || to > uint32(len(s.blob)) {
			return wire.Errorf(formatName, "string pool offsets", int64(s.poolAt+4*id+4), format.ErrCorrupt, "%d after %d of %d", to, from, len(s.blob))
		}
		if err := driver.CheckName(s.key(id)); err != nil {
			return wire.Error(formatName, "string pool", blobAt+int64(from), fmt.Errorf("string %d: %w", id, err))
		}
		if known[string(s.key(id))] {
			return wire.Errorf(formatName, "string pool", blobAt+int64(from), format.ErrCorrupt, "string %d, %q, occurs twice", id, s.key(id))
		}
		known[string(s.key(id))] = true
	}
	return nil
}

// readDescriptor adds the tensor of a descriptor at offset at. t is scratch space.
func (f *parsed) readDescriptor(s *snapshot, rec []byte, at int64, t *driver.Tensor) error {
	r := record{
		at: at, key: s.key(int(u32(rec, 4))),
		dtype: rec[1], dtypeAt: 1, dtypesKnown: dtypesSnapshot[:],
		dims: rec[snapDescriptor:], dimsAt: snapDescriptor,
		numel: u64(rec, 8), numelAt: 8,
	}
	if err := r.setDType(t); err != nil {
		return err
	}
	if err := r.setShape(t, f.index); err != nil {
		return err
	}
	t.Offset = f.dataEnd
	if offset := u64(rec, 16); offset != uint64(t.Offset-f.end) {
		return r.bad("tensor offset", 16, format.ErrCorrupt, "%d, the tensors before end at %d", offset, t.Offset-f.end)
	}
	if left := f.src.Size() - t.Offset; t.Size > left {
		return r.bad("tensor data", 16, format.ErrTruncated, "%d bytes at %d, %d are left", t.Size, t.Offset, left)
	}
	if err := f.index.Add(t); err != nil {
		return wire.Error(formatName, "tensor key_id", at+4, err)
	}
	f.dataEnd += t.Size
	return nil
}
