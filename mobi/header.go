package mobi

import (
	"bytes"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Header is the first 32 bytes of a file. Offsets and sizes are in bytes.
type Header struct {
	Magic          uint32
	Version        uint16
	Checksum       uint32 // 0: not recorded
	Flags          Flags
	FileSize       uint32 // footer included
	MetadataOffset uint32
	TensorOffset   uint32
	GraphOffset    uint32
}

// readHeader reads the header into buf and checks everything it says.
func readHeader(src driver.Source, buf []byte, sums bool) (Header, error) {
	var h Header
	b, err := driver.First(src, buf)
	if err != nil {
		return h, err
	}
	c := wire.NewCursor(name, b, 0)
	h.Magic = c.U32("magic")
	if c.Err() == nil && h.Magic != magicNumber && h.Magic != magicASCII {
		c.Failf("magic", 0, format.ErrMagic, "% x", bytes.Clone(b[:4]))
	}
	h.Version = c.U16("version")
	if c.Err() == nil && h.Version != version {
		c.Failf("version", 4, format.ErrVersion, "%d", h.Version)
	}
	reserved := c.U16("reserved")
	h.Checksum = c.U32("header checksum")
	h.Flags = Flags(c.U32("flags"))
	h.FileSize = c.U32("total file size")
	h.MetadataOffset = c.U32("metadata offset")
	h.TensorOffset = c.U32("tensor data offset")
	h.GraphOffset = c.U32("operator graph offset")
	if c.Err() == nil && sums && h.Checksum != 0 {
		clear(b[checksumAt : checksumAt+4])
		if sum := tensor.CRC32(b); sum != h.Checksum {
			c.Failf("header checksum", checksumAt, format.ErrChecksum, "stored %08x, computed %08x", h.Checksum, sum)
		}
	}
	if reserved != 0 {
		c.Failf("reserved", 6, format.ErrCorrupt, "is %#x, not 0", reserved)
	}
	h.check(&c, src.Size())
	if c.Err() != nil && isReference(b) {
		return h, wire.Errorf(name, "header", 0, format.ErrUnsupported, "this is the container that ml-framework's MobileModelWriter writes (a header of 30 bytes, a sum over too few), which nothing reads, not a MOBI file of the specification")
	}
	return h, c.Err()
}

// isReference recognizes the container that the reference writer emits, by the
// head of a file whose header is unsound: no reserved field, so that all fields
// from the checksum on are two bytes earlier, and metadata right behind it.
func isReference(b []byte) bool {
	if len(b) < referenceHeader {
		return false
	}
	c := wire.NewCursor(name, b, 0)
	magic := c.U32("magic")
	c.Bytes("version, checksum and flags", 2+4+4)
	total, meta, tensors, graph := c.U32("total size"), c.U32("metadata offset"), c.U32("tensor data offset"), c.U32("operator graph offset")
	return (magic == magicNumber || magic == magicASCII) && meta == referenceHeader && meta < tensors && tensors < graph && graph < total
}

// referenceHeader is the size of the header of that container.
const referenceHeader = 30

// check compares the sizes and offsets with each other and the file.
func (h *Header) check(c *wire.Cursor, size int64) {
	switch total := int64(h.FileSize); {
	case c.Err() != nil:
	case total > size:
		c.Failf("total file size", 16, format.ErrTruncated, "%d bytes, the file has %d", total, size)
	case total < size:
		c.Failf("total file size", 16, format.ErrCorrupt, "%d bytes, the file has %d", total, size)
	case h.MetadataOffset < headerSize:
		c.Failf("metadata offset", 20, format.ErrCorrupt, "%d is within the header", h.MetadataOffset)
	case h.TensorOffset <= h.MetadataOffset:
		c.Failf("tensor data offset", 24, format.ErrCorrupt, "%d is not after the metadata offset, %d", h.TensorOffset, h.MetadataOffset)
	case h.GraphOffset < h.TensorOffset:
		c.Failf("operator graph offset", 28, format.ErrCorrupt, "%d is before the tensor data offset, %d", h.GraphOffset, h.TensorOffset)
	case int64(h.GraphOffset) > h.graphEnd():
		c.Failf("operator graph offset", 28, format.ErrTruncated, "%d leaves no room for the footer in %d bytes", h.GraphOffset, size)
	}
}

// graphEnd is where the operator graph ends and the footer begins.
func (h *Header) graphEnd() int64 { return int64(h.FileSize) - footerSize }
