// Package flat adds a small weight format to weightmap from another module. The driver in this
// package is all the format needs to get mapping, views, verification, atomic writing, limits,
// and protection against page faults.
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

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

const (
	name       = "flat"
	magic      = "FLAT"
	headerSize = 16
	recordSize = 16 // without dims and name
	alignment  = 64
)

var le = binary.LittleEndian

// dtypes maps codes to element types.
var dtypes = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int8, tensor.Int32, tensor.Uint8}

func init() { format.Register(Format{}) }

// Format is the format. It has no options that other formats lack.
type Format struct{}

// Driver implements format.Format.
func (Format) Driver() driver.Driver { return flat{} }

// flat reads and writes the format.
type flat struct{}

// Describe implements driver.Driver.
func (flat) Describe() driver.Description {
	return driver.Description{Name: name, Extensions: []string{".flat"}}
}

// Detect implements driver.Driver.
func (flat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// file is what stays of an open file besides its index.
type file struct {
	records driver.Sum
	sums    []driver.Digest // by tensor
}

// decoder parses a file. What it reads with Slice during Parse is private memory: nothing needs to be copied.
type decoder struct {
	*file
	src   driver.Source
	index *driver.Index
	end   int64 // of the data so far
}

// Parse implements driver.Driver.
func (flat) Parse(src driver.Source, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	header, err := src.Slice(0, headerSize)
	if err != nil {
		return nil, err
	}
	if string(header[:4]) != magic {
		return nil, driver.Errorf(name, "magic", 0, format.ErrMagic, "%q", header[:4])
	}
	count := int64(le.Uint32(header[4:]))
	sum := le.Uint32(header[8:])
	size := int64(le.Uint32(header[12:]))
	if count > driver.MaxTensors || size > driver.MaxStructure {
		return nil, driver.Errorf(name, "count", 4, format.ErrLimit, "%d tensors, %d bytes of records", count, size)
	}
	records, err := src.Slice(headerSize, size)
	if err != nil {
		return nil, err
	}
	f := &file{records: driver.Sum{
		Name:   "records",
		Accept: []driver.Digest{{Kind: driver.CRC32, Want: uint64(sum), Field: "sum", Offset: 8}},
		Ranges: []driver.Range{{Offset: headerSize, Size: size}},
	}}
	_, err = src.Compare(&f.records, records, headerSize)
	if err != nil {
		return nil, err
	}
	x.Version = "1"
	most := int(min(count, size/recordSize)) // what the file says is not allocated, but what it can hold
	x.Grow(most, len(records), len(records)/8)
	f.sums = make([]driver.Digest, 0, most)
	p := &decoder{file: f, src: src, index: x, end: headerSize + size}
	at := int64(0)
	for range count {
		n, err := p.record(records[at:], headerSize+at)
		if err != nil {
			return nil, err
		}
		at += n
	}
	if at != size || p.end != src.Size() {
		return nil, driver.Errorf(name, "size", 12, format.ErrCorrupt,
			"the records end at %d, the data at %d of %d", headerSize+at, p.end, src.Size())
	}
	return &driver.Parsed{
		Own:       f,
		Sums:      func() []driver.Sum { return []driver.Sum{f.records} },
		TensorSum: func(i int) driver.Digest { return f.sums[i] },
	}, nil
}

// record parses the record at the start of b, whose offset in the file is at, and adds its tensor to the index. It returns
// the size of the record.
func (p *decoder) record(b []byte, at int64) (int64, error) {
	if len(b) < recordSize {
		return 0, driver.Errorf(name, "record", at, format.ErrCorrupt, "only %d bytes are left", len(b))
	}
	code := int(b[0])
	rank := int(b[1])
	length := int(le.Uint16(b[2:]))
	sum := le.Uint32(b[4:])
	offset := int64(le.Uint64(b[8:]))
	nameAt := recordSize + 8*rank
	if len(b) < nameAt+length {
		return 0, driver.Errorf(name, "record", at, format.ErrCorrupt, "only %d bytes are left", len(b))
	}
	if code >= len(dtypes) {
		return 0, driver.Errorf(name, "dtype", at, format.ErrUnsupported, "%d", code)
	}
	t := driver.Tensor{
		Name:   b[nameAt : nameAt+length],
		DType:  dtypes[code],
		Shape:  p.index.Dims(rank),
		Offset: offset,
	}
	for i := range t.Shape {
		t.Shape[i] = int64(le.Uint64(b[recordSize+8*i:]))
	}
	size, err := t.Shape.ByteSize(t.DType)
	if err != nil {
		return 0, driver.Errorf(name, "dims", at+recordSize, format.ErrCorrupt, "%w", err)
	}
	t.Size = size
	if offset != align(p.end) || offset > p.src.Size() || size > p.src.Size()-offset {
		return 0, driver.Errorf(name, "offset", at+8, format.ErrCorrupt,
			"%d bytes at %d of %d, behind %d", size, offset, p.src.Size(), p.end)
	}
	err = driver.CheckName(t.Name)
	if err != nil {
		return 0, driver.Errorf(name, "name", at+int64(nameAt), format.ErrCorrupt, "%w", err)
	}
	err = p.index.Add(&t)
	if err != nil {
		return 0, driver.Errorf(name, "name", at+int64(nameAt), format.ErrCorrupt, "%q occurs twice", t.Name)
	}
	p.sums = append(p.sums, driver.Digest{Kind: driver.CRC32, Want: uint64(sum)})
	p.end = offset + size
	return int64(nameAt + length), nil
}

func align(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
