package mag

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
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
	plainLen int // bytes of the metadata records that cannot be digests

	metaLeft, left int // records that were not measured yet
}

func (f *parsed) parseV1(st *structure, head []byte, o *driver.Options) error {
	x := &st.extent
	if err := f.readHeader(x, head, o); err != nil {
		return err
	}
	b, err := st.grow(x)
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
	if err := f.readTensors(b, x); err != nil {
		return err
	}
	return f.readMetadata(b, x)
}

// readHeader reads the counts from the first bytes of the file.
func (f *parsed) readHeader(x *extent, head []byte, o *driver.Options) error {
	c := wire.NewCursor(formatName, head, 0)
	c.Seek("header", checksumOffset)
	c.U32("checksum")
	tensors, metadata, aux := c.U32("num_tensors"), c.U32("num_meta_kv"), c.U32("aux")
	if c.Err() != nil {
		return c.Err()
	}
	if aux != 0 {
		return wire.Errorf(formatName, "aux", headerAuxOffset, format.ErrCorrupt, "reserved bits are set: %#x", aux)
	}
	least, size := headerSize+minMetadata*uint64(metadata), f.src.Size()
	if least > uint64(size) {
		return wire.Errorf(formatName, "num_meta_kv", metadataCountAt, format.ErrTruncated, "%d entries take at least %d bytes; the file has %d", metadata, least-headerSize, size)
	}
	least += minTensor * uint64(tensors)
	if err := f.checkCount("num_tensors", checksummedFrom, tensors, least, o); err != nil {
		return err
	}
	*x = extent{tensors: int(tensors), metadata: int(metadata), metaLeft: int(metadata), left: int(tensors), end: headerSize}
	return nil
}

// measure walks the records in b, the beginning of a file, and checks nothing
// but where they end. errMore says that b ends before they do; a call with more of
// the file goes on where that one stopped. The last call has the whole file.
func (x *extent) measure(b []byte, last bool) error {
	for ; x.metaLeft > 0; x.metaLeft-- {
		n := metadataSize(b, x.end)
		if n == 0 {
			return badMetadata(b, x.end, last)
		}
		if !isDigest(b[x.end : x.end+n]) {
			x.plainLen += n
		}
		x.end += n
	}
	if x.left == x.tensors {
		x.metaEnd = x.end
	}
	for ; x.left > 0; x.left-- {
		n := tensorSize(b, x.end)
		if n == 0 {
			return badTensor(b, x.end, last)
		}
		rank := int(b[x.end+1])
		x.dims += rank
		x.names += n - tensorHead - 8*rank - 4
		x.end += n
	}
	return nil
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

// metadataSize returns the size of the metadata record at b[at:], 0 when it is
// not whole or its key has no legal length. It is small enough to be inlined:
// opening a file calls it twice for each record.
func metadataSize(b []byte, at int) int {
	if len(b)-at < metadataHead {
		return 0
	}
	key := u32(b, at+metadataKeyLength)
	if key-1 >= maxKey || int(key) > len(b)-at-metadataHead {
		return 0
	}
	return metadataHead + int(key)
}

// badMetadata says why metadataSize returned 0.
func badMetadata(b []byte, at int, last bool) error {
	left := len(b) - at
	if left < metadataHead {
		return cut("metadata record", at, left, last)
	}
	if key := u32(b, at+metadataKeyLength); key == 0 || key > maxKey {
		return keyLength("metadata key_length", at+metadataKeyLength, key)
	}
	return cut("metadata key", at+metadataHead, left-metadataHead, last)
}

// tensorSize returns the size of the tensor record at b[at:], 0 when it is not
// whole, its rank is 0, or its key has no legal length.
func tensorSize(b []byte, at int) int {
	if len(b)-at < minTensor {
		return 0
	}
	head := tensorHead + 8*int(b[at+1]) + 4
	if len(b)-at < head {
		return 0
	}
	key := u32(b, at+head-4)
	if head == tensorHead+4 || key-1 >= maxKey || int(key) > len(b)-at-head {
		return 0
	}
	return head + int(key)
}

// badTensor says why tensorSize returned 0.
func badTensor(b []byte, at int, last bool) error {
	left := len(b) - at
	if left < tensorHead {
		return cut("tensor record", at, left, last)
	}
	if b[at+1] == 0 {
		return wire.Errorf(formatName, "tensor rank", int64(at)+1, format.ErrCorrupt, "0; the least is 1")
	}
	head := tensorHead + 8*int(b[at+1])
	if left < head+4 {
		return cut("tensor shape", at+tensorHead, left-tensorHead, last)
	}
	if key := u32(b, at+head); key == 0 || key > maxKey {
		return keyLength("tensor key_length", at+head, key)
	}
	return cut("tensor key", at+head+4, left-head-4, last)
}

func cut(field string, at, left int, last bool) error {
	if !last {
		return errMore
	}
	return wire.Errorf(formatName, field, int64(at), format.ErrTruncated, "only %d bytes are left", left)
}

func keyLength(field string, at int, n uint32) error {
	return wire.Errorf(formatName, field, int64(at), format.ErrCorrupt, "%d; keys have 1 to %d bytes", n, maxKey)
}

// readTensors fills the index from records that measure found to be whole.
func (f *parsed) readTensors(b []byte, x *extent) error {
	var t driver.Tensor
	for at := x.metaEnd; at < x.end; {
		n := tensorSize(b, at)
		if n == 0 {
			return badTensor(b, at, true)
		}
		if err := f.readTensor(b[at:at+n:at+n], int64(at), &t); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// readTensor adds the tensor of the record rec, which lies at offset at. t is
// scratch space.
func (f *parsed) readTensor(rec []byte, at int64, t *driver.Tensor) error {
	rank := int(rec[1])
	key := rec[tensorHead+8*rank+4:]
	bad := func(field string, off int64, sentinel error, text string, args ...any) error {
		return wire.Errorf(formatName, field, at+off, sentinel, "%s (tensor %q)", fmt.Sprintf(text, args...), key)
	}
	if rec[2]|rec[3] != 0 {
		return bad("tensor aux", 0, format.ErrCorrupt, "reserved bits are set")
	}
	t.DType = dtypeOf(dtypesV1[:], rec[0])
	if !t.DType.Valid() {
		return bad("tensor dtype", 0, format.ErrUnsupported, "unknown code %d", rec[0])
	}
	if err := checkKey(key); err != nil {
		return wire.Error(formatName, "tensor key", at+int64(len(rec)-len(key)), err)
	}
	t.Name, t.Shape = key, f.index.Dims(rank)
	elems, i := product(t.Shape, rec[tensorHead:])
	if i >= 0 {
		return bad("tensor shape", int64(tensorHead+8*i), format.ErrCorrupt, "dim %d is 0 or the product reaches 2^63", i)
	}
	if numel := u64(rec, 4); numel != uint64(elems) {
		return bad("tensor numel", 4, format.ErrCorrupt, "%d, the dims make it %d", numel, elems)
	}
	if t.Size = byteSize(elems, t.DType); t.Size < 0 {
		return bad("tensor numel", 4, format.ErrCorrupt, "%d elements of %v reach 2^63 bytes", elems, t.DType)
	}
	offset, size := u64(rec, 12), uint64(f.src.Size())
	if offset > size || uint64(t.Size) > size-offset {
		return bad("tensor offset", 12, format.ErrTruncated, "%d bytes at %d, the file has %d", t.Size, offset, size)
	}
	if t.Offset = int64(offset); t.Offset < f.end {
		return bad("tensor offset", 12, format.ErrCorrupt, "%d lies inside header and records, which end at %d", offset, f.end)
	}
	if f.index.Add(t) != nil {
		return bad("tensor key", int64(len(rec)-len(key)), format.ErrCorrupt, "occurs twice")
	}
	f.dataEnd = max(f.dataEnd, t.Offset+t.Size)
	return nil
}

// product fills shape from the 64-bit dims in b and returns the number of
// elements. i is the dim that is 0 or at which the product reaches 2^63, else -1.
func product(shape tensor.Shape, b []byte) (elems int64, i int) {
	n := uint64(1)
	for i := range shape {
		d := u64(b, 8*i)
		hi, lo := bits.Mul64(n, d)
		if hi != 0 || lo == 0 || lo > math.MaxInt64 {
			return 0, i
		}
		shape[i], n = int64(d), lo
	}
	return int64(n), -1
}

// byteSize returns elems times the size of d, negative when that reaches 2^63.
func byteSize(elems int64, d tensor.DType) int64 {
	hi, lo := bits.Mul64(uint64(elems), uint64(d.Size()))
	if hi != 0 {
		return -1
	}
	return int64(lo) // negative from 2^63 on
}
