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

var about = driver.Description{Name: name, Extensions: []string{".flat"}}

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

// file is the state of an open file besides its index.
type file struct {
	fileSize int64
	size     int64 // of the records
	sum      driver.Sum
	sums     []driver.Digest // by tensor
}

// Describe implements driver.Driver.
func (flat) Describe() driver.Description { return about }

// Detect implements driver.Driver.
func (flat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Parse implements driver.Driver.
func (flat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	header, err := src.Slice(0, headerSize)
	if err != nil {
		return nil, err
	}
	if string(header[:4]) != magic {
		return nil, driver.Errorf(name, "magic", 0, format.ErrMagic, "%q", header[:4])
	}
	count, f := int64(le.Uint32(header[4:])), &file{fileSize: src.Size(), size: int64(le.Uint32(header[12:]))}
	if count > int64(driver.MaxTensors) || f.size > driver.MaxStructure {
		return nil, driver.Errorf(name, "count", 4, format.ErrLimit, "%d tensors, %d bytes of records", count, f.size)
	}
	stored, err := src.Slice(headerSize, f.size)
	if err != nil {
		return nil, err
	}
	records := bytes.Clone(stored) // copy what was validated: another process may write to the file
	f.sum = driver.Sum{
		Name:   "records",
		Accept: []driver.Digest{{Kind: driver.CRC32, Want: uint64(le.Uint32(header[8:])), Field: "sum", Offset: 8}},
		Ranges: []driver.Range{{Offset: headerSize, Size: f.size}},
	}
	if _, err := src.Compare(&f.sum, records, headerSize); err != nil {
		return nil, err
	}
	x.Version = "1"
	most := int(min(count, f.size/recordSize)) // limit by the size of the file
	x.Grow(most, len(records), len(records)/8)
	f.sums = make([]driver.Digest, 0, most)
	at, end := int64(headerSize), headerSize+f.size
	for range count {
		if at, end, err = f.record(records[at-headerSize:], at, end, x); err != nil {
			return nil, err
		}
	}
	if at != headerSize+f.size || end != f.fileSize {
		return nil, driver.Errorf(name, "size", 12, format.ErrCorrupt, "the records end at %d, the data at %d of %d", at, end, f.fileSize)
	}
	return &driver.Parsed{Own: f, TensorSum: f.tensorSum, Sums: f.declare}, nil
}

// record parses the record at the start of b, whose offset is at, and lists its tensor. end is the
// end of the previous data. It returns the ends of the record and of its data.
func (f *file) record(b []byte, at, end int64, x *driver.Index) (int64, int64, error) {
	if len(b) < recordSize || len(b) < recordSize+8*int(b[1])+int(le.Uint16(b[2:])) {
		return 0, 0, driver.Errorf(name, "record", at, format.ErrCorrupt, "only %d bytes are left", len(b))
	}
	rank, nameAt := int(b[1]), recordSize+8*int(b[1])
	t := driver.Tensor{Name: b[nameAt : nameAt+int(le.Uint16(b[2:]))], Offset: int64(le.Uint64(b[8:])), Shape: x.Dims(rank)}
	for i := range t.Shape {
		t.Shape[i] = int64(le.Uint64(b[recordSize+8*i:]))
	}
	if int(b[0]) >= len(dtypes) {
		return 0, 0, driver.Errorf(name, "dtype", at, format.ErrUnsupported, "%d", b[0])
	}
	t.DType = dtypes[b[0]]
	var err error
	if t.Size, err = t.Shape.ByteSize(t.DType); err != nil {
		return 0, 0, driver.Errorf(name, "dims", at+recordSize, format.ErrCorrupt, "%w", err)
	}
	if t.Offset != align(end) || t.Offset > f.fileSize || t.Size > f.fileSize-t.Offset {
		return 0, 0, driver.Errorf(name, "offset", at+8, format.ErrCorrupt, "%d bytes at %d of %d, behind %d", t.Size, t.Offset, f.fileSize, end)
	}
	if err := driver.CheckName(t.Name); err != nil {
		return 0, 0, driver.Errorf(name, "name", at+int64(nameAt), format.ErrCorrupt, "%w", err)
	}
	if x.Add(&t) != nil {
		return 0, 0, driver.Errorf(name, "name", at+int64(nameAt), format.ErrCorrupt, "%q occurs twice", t.Name)
	}
	f.sums = append(f.sums, driver.Digest{Kind: driver.CRC32, Want: uint64(le.Uint32(b[4:]))})
	return at + int64(nameAt+len(t.Name)), t.Offset + t.Size, nil
}

func align(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// tensorSum returns the checksum of tensor i.
func (f *file) tensorSum(i int) driver.Digest { return f.sums[i] }

// declare returns the checksums of what is not a tensor.
func (f *file) declare() []driver.Sum { return []driver.Sum{f.sum} }
