package mle

import (
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Section is a range of the file, in bytes.
type Section struct{ Offset, Size int64 }

// End returns the offset behind the section.
func (s Section) End() int64 { return s.Offset + s.Size }

// Header is the file header. For version 1 the fields that it lacks are zero,
// and sections are where they were found (see Shift).
type Header struct {
	Version    uint32
	Features   Features
	HeaderSize uint32 // 128 or 144; for version 1 the 64 bytes of its fields

	Metadata    Section // JSON
	Graph       Section
	Weights     Section // as stored: compressed, encrypted
	Signature   Section
	Compression Section

	// CRC-32 (IEEE) of the stored sections and of the header; 0 means not recorded.
	MetadataChecksum, GraphChecksum, WeightsChecksum, HeaderChecksum uint32

	MinReaderVersion, WriterVersion uint32

	// Shift is by how many bytes the sections of a version 1 file are behind
	// the offsets that it states: 0, or 16 for the files of one exporter.
	Shift int64
	// LegacySignature is version 1's signature_offset, which is not used.
	LegacySignature uint64
}

// fail makes the error for a field of the file.
func fail(field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, offset, sentinel, text, args...)
}

// readHeader reads the header, whatever the version, and checks that its
// sections are in the file, apart from each other.
func (f *parsed) readHeader(sums bool) error {
	b, err := driver.Prefix(f.src, headerStruct)
	if err != nil {
		return err
	}
	f.head = f.first[:copy(f.first[:], b)]
	h := &f.h
	c := wire.NewCursor(formatName, f.head, 0)
	if m := c.U32("magic"); c.Err() == nil && m != magic {
		return fail("magic", 0, format.ErrMagic, "%#08x instead of %#08x", m, magic)
	}
	if err := refusePickle(f.src, f.head); err != nil {
		return err
	}
	h.Version = c.U32("version")
	if c.Err() != nil {
		return c.Err()
	}
	switch h.Version {
	case 1:
		err = h.readV1(&c, f.head, f.src.Size())
	case 2:
		err = h.readV2(&c)
	default:
		err = fail("version", atVersion, format.ErrVersion, "%d, not %d to %d", h.Version, minVersion, maxVersion)
	}
	if err == nil && sums {
		err = h.checkSum(f.head)
	}
	if err == nil {
		err = h.checkSections(f.src.Size())
	}
	return err
}

// refusePickle recognizes the container of another program that has the same
// magic and holds a Python pickle, which is a program and is never read.
func refusePickle(src driver.Source, head []byte) error {
	const fixed = 24
	size := uint64(src.Size())
	if len(head) <= fixed || head[fixed] != '{' {
		return nil
	}
	a, b := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	if a > size || b > size || fixed+a+b != size || b == 0 {
		return nil
	}
	first, err := src.Slice(int64(fixed+a), 1)
	if err != nil {
		return err
	}
	if first[0] != 0x80 {
		return nil
	}
	return fail("magic", 0, format.ErrUnsupported, "this is a container of a Python pickle with the magic of MLE, not a model; pickles are never read")
}

// section reads a pair of offset and size. Values that no file can have stay
// recognizable: they become negative or larger than any file.
func section(c *wire.Cursor, offset, length string) Section {
	at := c.Offset()
	off, size := c.U64(offset), c.U64(length)
	if c.Err() == nil && (off > math.MaxInt64 || size > math.MaxInt64-off) {
		c.Failf(offset, at, tensor.ErrTruncated, "offset %d and size %d are beyond any file", off, size)
	}
	return Section{int64(off), int64(size)}
}

// readV1 reads the fields after the version: seven words of 64 bits.
func (h *Header) readV1(c *wire.Cursor, head []byte, size int64) error {
	h.HeaderSize = headerV1
	h.Metadata = section(c, "metadata_offset", "metadata_size")
	h.Graph = section(c, "graph_offset", "graph_size")
	h.Weights = section(c, "weights_offset", "weights_size")
	h.LegacySignature = c.U64("signature_offset")
	if c.Err() == nil {
		h.findShift(head, size)
	}
	return c.Err()
}

// findShift recognizes the exporter that wrote a header of 80 bytes but
// offsets for one of 64.
func (h *Header) findShift(head []byte, size int64) {
	const end = headerV1 + exportShift
	last := max(h.Metadata.End(), h.Graph.End(), h.Weights.End())
	if h.Metadata.Offset != headerV1 || size-last != exportShift || len(head) <= end || head[end] != '{' {
		return
	}
	for _, zero := range head[headerV1:end] {
		if zero != 0 {
			return
		}
	}
	h.Shift = exportShift
	for _, s := range []*Section{&h.Metadata, &h.Graph, &h.Weights} {
		s.Offset += exportShift
	}
}

// readV2 reads the fields after the version.
func (h *Header) readV2(c *wire.Cursor) error {
	h.Features = Features(c.U32("feature_flags"))
	h.HeaderSize = c.U32("header_size")
	h.Metadata = section(c, "metadata_offset", "metadata_size")
	h.Graph = section(c, "graph_offset", "graph_size")
	h.Weights = section(c, "weights_offset", "weights_size")
	h.Signature = section(c, "signature_offset", "signature_size")
	h.Compression = section(c, "compression_offset", "compression_size")
	h.MetadataChecksum = c.U32("metadata_checksum")
	h.GraphChecksum = c.U32("graph_checksum")
	h.WeightsChecksum = c.U32("weights_checksum")
	h.HeaderChecksum = c.U32("header_checksum")
	h.MinReaderVersion = c.U32("min_reader_version")
	h.WriterVersion = c.U32("writer_version")
	if c.Err() != nil {
		return c.Err()
	}
	if h.MinReaderVersion > maxVersion {
		return fail("min_reader_version", atMinReader, format.ErrVersion, "%d, this reader knows up to %d", h.MinReaderVersion, maxVersion)
	}
	if h.HeaderSize != headerText && h.HeaderSize != headerStruct {
		return fail("header_size", atHeaderSize, format.ErrCorrupt, "%d, neither %d nor %d", h.HeaderSize, headerText, headerStruct)
	}
	return nil
}

// checkSum accepts the sum over header_size bytes and that of the
// reference implementation, which takes 144 bytes whatever header_size says.
func (h *Header) checkSum(head []byte) error {
	if h.Version == 1 || h.HeaderChecksum == 0 {
		return nil
	}
	if int64(len(head)) < int64(h.HeaderSize) {
		return fail("header", 0, format.ErrTruncated, "%d bytes, header_size is %d", len(head), h.HeaderSize)
	}
	sum := headerSum(head[:h.HeaderSize])
	if sum == h.HeaderChecksum || len(head) >= headerStruct && headerSum(head[:headerStruct]) == h.HeaderChecksum {
		return nil
	}
	return fail("header_checksum", atHeaderSum, format.ErrChecksum, "%#08x recorded, %#08x computed", h.HeaderChecksum, sum)
}

var zeroSum [4]byte

// headerSum is the CRC-32 of the header with its own field zeroed.
func headerSum(head []byte) uint32 {
	sum := tensor.CRC32(head[:atHeaderSum])
	sum = tensor.UpdateCRC32(sum, zeroSum[:])
	return tensor.UpdateCRC32(sum, head[atHeaderSum+4:])
}

// sections lists all sections with their names and the header fields that
// hold their offsets.
func (h *Header) sections() [5]struct {
	name  string
	field int64
	Section
} {
	first := int64(atSections)
	if h.Version == 1 {
		first = atV1Sections
	}
	return [5]struct {
		name  string
		field int64
		Section
	}{
		{"metadata", first, h.Metadata},
		{"graph", first + 16, h.Graph},
		{"weights", first + 32, h.Weights},
		{"signature", signaturePos, h.Signature},
		{"compression", compressionPos, h.Compression},
	}
}

// checkSections makes sure that the sections are between header and end of
// the file, do not overlap, and leave no bytes behind the last.
func (h *Header) checkSections(size int64) error {
	all := h.sections()
	end := int64(h.HeaderSize)
	if end > size {
		return fail("header", size, format.ErrTruncated, "%d bytes, %d are there", end, size)
	}
	for i, s := range all {
		if s.End() > size {
			return fail(s.name+"_offset", s.field, format.ErrTruncated, "the section reaches from %d to %d, the file ends at %d", s.Offset, s.End(), size)
		}
		end = max(end, s.End())
		if s.Size == 0 {
			continue
		}
		if s.Offset < int64(h.HeaderSize) {
			return fail(s.name+"_offset", s.field, format.ErrCorrupt, "the section begins at %d, inside the header", s.Offset)
		}
		for _, t := range all[:i] {
			if t.Size > 0 && s.Offset < t.End() && t.Offset < s.End() {
				return fail(s.name+"_offset", s.field, format.ErrCorrupt, "the section overlaps that of the %s", t.name)
			}
		}
	}
	if end < size {
		return fail("file size", end, format.ErrCorrupt, "%d bytes after the last section", size-end)
	}
	return h.checkFeatures()
}

// checkFeatures compares the flags with the sections.
func (h *Header) checkFeatures() error {
	for _, f := range []struct {
		flag Features
		name string
		Section
	}{{Compression, "compression", h.Compression}, {Signing, "signature", h.Signature}} {
		switch has := h.Features.Has(f.flag); {
		case has && f.Size == 0:
			return fail("feature_flags", atFeatures, format.ErrCorrupt, "%v is set, but there is no %s section", f.flag, f.name)
		case !has && f.Size > 0:
			return fail("feature_flags", atFeatures, format.ErrCorrupt, "%v is not set, but there is a %s section", f.flag, f.name)
		}
	}
	if h.Features.Has(Encryption) && h.Weights.Size < seal.Overhead {
		return fail("weights_size", atSections+40, format.ErrCorrupt, "%d bytes cannot hold nonce and tag", h.Weights.Size)
	}
	if h.Graph.Size < graphHead {
		return fail("graph_size", h.sections()[1].field+8, format.ErrCorrupt, "%d, the counts alone take %d", h.Graph.Size, graphHead)
	}
	return nil
}

// plainSize returns the size of the weights section once decrypted.
func (h *Header) plainSize() int64 {
	if h.Features.Has(Encryption) {
		return h.Weights.Size - seal.Overhead
	}
	return h.Weights.Size
}
