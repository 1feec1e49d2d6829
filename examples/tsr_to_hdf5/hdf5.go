package main

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// The file, as "HDF5 File Format Specification Version 3.0" defines its parts:
//
//	0     superblock, version 2 (II.A), 48 bytes
//	48    object header of the root group (IV.A.1.b): link info, group info, one link
//	...   object header of the dataset: dataspace, datatype, fill value, layout
//	...   zeros up to a multiple of 64
//	...   data, contiguous
//
// This much of HDF5 is written here and not by a library: the one pure Go library
// there is (scigolib/hdf5 0.13.4) writes CRC-32 where the specification has
// lookup3, and datatypes without sign, so that the HDF5 library refuses its files.
const (
	superblockSize = 48
	dataAlign      = 64
	undefined      = 1<<64 - 1 // the undefined address
)

// Types of header messages (IV.A.2).
const (
	msgDataspace = 0x01
	msgLinkInfo  = 0x02
	msgDatatype  = 0x03
	msgFillValue = 0x05
	msgLink      = 0x06
	msgLayout    = 0x08
	msgGroupInfo = 0x0a
)

// hdf5Header returns the bytes before the data of t.
func hdf5Header(t tensor.Info) ([]byte, error) {
	if t.Name == "." {
		return nil, fmt.Errorf("%w: a dataset cannot be named %q", format.ErrUnsupported, t.Name)
	}
	datatype, err := datatypeMessage(t.DType)
	if err != nil {
		return nil, err
	}
	// Addresses have a fixed width, so sizes do not depend on them.
	datasetAt := superblockSize + len(groupHeader(t.Name, 0))
	end := datasetAt + len(datasetHeader(&t, datatype, 0))
	dataAt := (end + dataAlign - 1) / dataAlign * dataAlign

	var b buffer
	b.raw(superblock(uint64(dataAt) + uint64(t.Size)))
	b.raw(groupHeader(t.Name, uint64(datasetAt)))
	b.raw(datasetHeader(&t, datatype, uint64(dataAt)))
	b.zeros(dataAt - end)
	return b, nil
}

func superblock(size uint64) []byte {
	var b buffer
	b.text("\x89HDF\r\n\x1a\n")
	b.u8(2)          // version
	b.u8(8)          // bytes of an address
	b.u8(8)          // bytes of a length
	b.u8(0)          // file consistency flags
	b.u64(0)         // base address
	b.u64(undefined) // no extension
	b.u64(size)
	b.u64(superblockSize) // of the root group's header
	b.u32(lookup3(b))
	return b
}

// groupHeader returns the root group with one hard link, to the dataset.
func groupHeader(name string, dataset uint64) []byte {
	var info, link buffer
	info.u16(0)         // version, flags
	info.u64(undefined) // no heap: links are in the header
	info.u64(undefined) // no index
	link.u8(1)          // version
	link.u8(0x11)       // the length takes two bytes; the character set follows
	link.u8(1)          // UTF-8
	link.u16(uint16(len(name)))
	link.text(name)
	link.u64(dataset)
	return objectHeader(
		message{msgLinkInfo, info},
		message{msgGroupInfo, []byte{0, 0}},
		message{msgLink, link},
	)
}

func datasetHeader(t *tensor.Info, datatype []byte, dataAt uint64) []byte {
	var space, layout buffer
	space.u8(2) // version
	space.u8(uint8(len(t.Shape)))
	space.u8(0)                           // no maximum dims
	space.u8(uint8(min(1, len(t.Shape)))) // 0 scalar, 1 simple
	for _, d := range t.Shape {
		space.u64(uint64(d))
	}
	if t.Size == 0 {
		dataAt = undefined // no storage is allocated
	}
	layout.u8(3) // version
	layout.u8(1) // contiguous
	layout.u64(dataAt)
	layout.u64(uint64(t.Size))
	return objectHeader(
		message{msgDataspace, space},
		message{msgDatatype, datatype},
		message{msgFillValue, []byte{3, 0x0a}}, // version; allocated late, filled if set: the library's default
		message{msgLayout, layout},
	)
}

// datatypeMessage describes little-endian elements.
func datatypeMessage(d tensor.DType) ([]byte, error) {
	const version1, fixed, float = 1 << 4, 0, 1
	var b buffer
	switch d {
	case tensor.Int8, tensor.Int32:
		b.u8(version1 | fixed)
		b.raw([]byte{0x08, 0, 0}) // little-endian, signed
	case tensor.Float32:
		b.u8(version1 | float)
		b.raw([]byte{0x20, 31, 0}) // little-endian, implied leading 1; sign in bit 31
	default:
		return nil, fmt.Errorf("%w: dtype %v", format.ErrUnsupported, d)
	}
	b.u32(uint32(d.Size()))
	b.u16(0) // bit offset
	b.u16(uint16(8 * d.Size()))
	if d == tensor.Float32 {
		b.raw([]byte{23, 8, 0, 23}) // exponent at bit 23, 8 bits; mantissa at bit 0, 23 bits
		b.u32(127)
	}
	return b, nil
}

type message struct {
	kind uint8
	body []byte
}

// objectHeader returns a version 2 object header with one chunk.
func objectHeader(messages ...message) []byte {
	var body, b buffer
	for _, m := range messages {
		body.u8(m.kind)
		body.u16(uint16(len(m.body)))
		body.u8(0) // flags
		body.raw(m.body)
	}
	b.text("OHDR")
	b.u8(2) // version
	b.u8(1) // flags: the chunk's size takes two bytes
	b.u16(uint16(len(body)))
	b.raw(body)
	b.u32(lookup3(b))
	return b
}
