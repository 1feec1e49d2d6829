// Package flat is a small weight format of its own, in a module of its own: what it
// takes to teach weightmap a format that it does not know. Reading by mapping,
// views, verification, atomic and streamed writing, limits and guards come with it.
//
// A file, little-endian:
//
//	0   "FLAT"
//	4   u32 number of tensors
//	8   u32 CRC-32 of the records
//	12  u32 bytes of all records
//	16  records: u8 dtype, u8 rank, u16 length of the name, u32 CRC-32 of the
//	    data, u64 offset of the data, u64 dims, name
//	    data, each at a multiple of 64, in the order of the records
package flat

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

const (
	magic      = "FLAT"
	headerSize = 16
	recordSize = 16 // without dims and name
	alignment  = 64
)

// dtypes are the element types by their codes.
var dtypes = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int8, tensor.Int32, tensor.Uint8}

func init() { format.Register(Driver{}) }

// Driver is the format.
type Driver struct{}

// file is what an open file keeps beside its index.
type file struct {
	src  driver.Source
	sums []uint32 // by tensor
	sum  uint32   // of the records
	size int64    // of the records
}

// Describe implements driver.Driver.
func (Driver) Describe() driver.Description {
	return driver.Description{Name: "flat", Extensions: []string{".flat"}}
}

// Detect implements driver.Driver.
func (Driver) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// fail makes an error with a place in the file.
func fail(field string, at int64, sentinel error, text string, args ...any) error {
	return &format.Error{Format: "flat", Field: field, Offset: at, Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...))}
}

// Parse implements driver.Driver.
func (Driver) Parse(src driver.Source, x *driver.Index, o *driver.Options) (driver.File, error) {
	head := make([]byte, headerSize)
	if _, err := src.ReadAt(head, 0); err != nil {
		return nil, fail("header", 0, format.ErrTruncated, "%v", err)
	}
	if string(head[:4]) != magic {
		return nil, fail("magic", 0, format.ErrMagic, "%q", head[:4])
	}
	u32 := binary.LittleEndian.Uint32
	count, f := int64(u32(head[4:])), &file{src: src, sum: u32(head[8:]), size: int64(u32(head[12:]))}
	switch {
	case count > int64(o.MaxTensors) || f.size > o.MaxHeaderBytes:
		return nil, fail("count", 4, format.ErrLimit, "%d tensors in %d bytes", count, f.size)
	case f.size > src.Size()-headerSize || count > f.size/(recordSize+1):
		return nil, fail("size", 12, format.ErrTruncated, "%d tensors in %d bytes of records; the file has %d", count, f.size, src.Size())
	}
	records := make([]byte, f.size) // private: another process may write to the file
	if _, err := src.ReadAt(records, headerSize); err != nil {
		return nil, err
	}
	if o.Check.Sums() && tensor.CRC32(records) != f.sum {
		return nil, fail("sum", 8, format.ErrChecksum, "of the records")
	}
	x.Version = "1"
	x.Grow(int(count), len(records), len(records)/8)
	f.sums = make([]uint32, 0, count)
	end := headerSize + f.size
	for b := records; len(b) > 0 || int64(x.Len()) < count; {
		at := headerSize + f.size - int64(len(b))
		n, err := f.record(b, at, &end, x)
		if err != nil {
			return nil, err
		}
		b = b[n:]
	}
	if int64(x.Len()) != count || src.Size() != end {
		return nil, fail("count", 4, format.ErrCorrupt, "%d tensors, the records end with %d; %d bytes, the data ends at %d", count, x.Len(), src.Size(), end)
	}
	return f, nil
}

// record adds the tensor of the record that b begins with, at an offset of the
// file, and returns the bytes it takes. end is where the data before it ends.
func (f *file) record(b []byte, at int64, end *int64, x *driver.Index) (int, error) {
	if len(b) < recordSize || len(b) < recordSize+8*int(b[1])+int(binary.LittleEndian.Uint16(b[2:])) {
		return 0, fail("record", at, format.ErrTruncated, "%d bytes are left", len(b))
	}
	names := recordSize + 8*int(b[1])
	t := driver.Tensor{Name: b[names : names+int(binary.LittleEndian.Uint16(b[2:]))], Shape: x.Dims(int(b[1]))}
	for i := range t.Shape {
		t.Shape[i] = int64(binary.LittleEndian.Uint64(b[recordSize+8*i:]))
	}
	if int(b[0]) >= len(dtypes) {
		return 0, fail("dtype", at, format.ErrUnsupported, "%d", b[0])
	}
	t.DType, t.Offset = dtypes[b[0]], int64(binary.LittleEndian.Uint64(b[8:]))
	var err error
	if t.Size, err = t.Shape.ByteSize(t.DType); err != nil {
		return 0, fail("dims", at+recordSize, format.ErrCorrupt, "%v", err)
	}
	if t.Offset != align(*end) || t.Size > f.src.Size()-t.Offset {
		return 0, fail("offset", at+8, format.ErrCorrupt, "%d, the data before ends at %d", t.Offset, *end)
	}
	if err := tensor.CheckName(string(t.Name)); err != nil || !x.Add(&t) {
		return 0, fail("name", at+int64(names), format.ErrCorrupt, "%q: not usable, or taken", t.Name)
	}
	*end, f.sums = t.Offset+t.Size, append(f.sums, binary.LittleEndian.Uint32(b[4:]))
	return names + len(t.Name), nil
}

func align(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// TensorSum implements driver.Summer.
func (f *file) TensorSum(i int) driver.Sum {
	return driver.Sum{Kind: driver.CRC32, Want: uint64(f.sums[i])}
}

// Verify implements driver.Verifier.
func (f *file) Verify(v driver.Verification) error {
	sum, err := v.Hash(driver.CRC32, 0, headerSize, f.size, "records")
	if err == nil && uint32(sum) != f.sum {
		err = fail("sum", 8, format.ErrChecksum, "of the records")
	}
	v.Section("records", "crc32")
	return err
}
