package mle

import (
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// readHeader reads the header of either version and checks that the sections are within
// the file and do not overlap.
func (p *parser) readHeader() error {
	f := p.f
	head, err := driver.Prefix(f.src, headerStruct)
	if err != nil {
		return err
	}
	f.head = head
	h := &f.h
	r := &f.fields
	*r = wire.NewRecord(formatName, head, 0)
	r.Text("magic", magic, format.ErrMagic)
	if r.Err() != nil {
		return r.Err()
	}
	err = refusePickle(f.src, head)
	if err != nil {
		return err
	}
	h.Version = r.U32("version")
	switch {
	case r.Err() == nil && (h.Version < minVersion || h.Version > maxVersion):
		r.Bad(format.ErrVersion, "%d, not %d to %d", h.Version, minVersion, maxVersion)
	case h.Version == 1:
		h.readV1(r)
		h.findShift(head, f.src.Size())
	default:
		h.readV2(r)
	}
	if r.Err() != nil {
		return r.Err()
	}
	err = p.checkHeader()
	if err != nil {
		return err
	}
	return p.checkPlaces()
}

// readV1 reads the fields of version 1 after the version.
func (h *Header) readV1(r *wire.Record) {
	h.HeaderSize = headerV1
	h.Metadata = readSection(r, "metadata_offset", "metadata_size")
	h.Graph = readSection(r, "graph_offset", "graph_size")
	h.Weights = readSection(r, "weights_offset", "weights_size")
	h.LegacySignature = r.U64("signature_offset")
}

// readV2 reads the fields of version 2 after the version.
func (h *Header) readV2(r *wire.Record) {
	h.Features = Features(r.U32("feature_flags"))
	h.HeaderSize = r.U32("header_size")
	h.Metadata = readSection(r, "metadata_offset", "metadata_size")
	h.Graph = readSection(r, "graph_offset", "graph_size")
	h.Weights = readSection(r, "weights_offset", "weights_size")
	h.Signature = readSection(r, "signature_offset", "signature_size")
	h.Compression = readSection(r, "compression_offset", "compression_size")
	h.MetadataChecksum = r.U32("metadata_checksum")
	h.GraphChecksum = r.U32("graph_checksum")
	h.WeightsChecksum = r.U32("weights_checksum")
	h.HeaderChecksum = r.U32("header_checksum")
	h.MinReaderVersion = r.U32("min_reader_version")
	if h.MinReaderVersion > maxVersion {
		r.Bad(format.ErrVersion, "%d, this reader knows up to %d", h.MinReaderVersion, maxVersion)
	}
	h.WriterVersion = r.U32("writer_version")
	// Only now: the header of a cut file ends before, and other programs have other fields here.
	if h.HeaderSize != headerText && h.HeaderSize != headerStruct {
		r.BadField("header_size", format.ErrCorrupt, "%d, neither %d nor %d", h.HeaderSize, headerText,
			headerStruct)
	}
}

// readSection reads the offset and the size of a section.
func readSection(r *wire.Record, offsetField, sizeField string) Section {
	offset := r.U64(offsetField)
	size := r.U64(sizeField)
	if offset > math.MaxInt64 || size > math.MaxInt64-offset {
		r.BadField(offsetField, tensor.ErrTruncated, "offset %d and size %d are too large for a file",
			offset, size)
	}
	return Section{int64(offset), int64(size)}
}

// bad returns an error for a field of the header.
func (f *parsed) headerErrorf(field string, sentinel error, text string, args ...any) error {
	return errorf(field, f.fields.At(field), sentinel, text, args...)
}

// put writes the fields and the checksum to b, and leaves the reserved bytes.
func (h *Header) put(b []byte) {
	w := wire.Buffer(b[:0])
	w.Str(magic)
	w.U32(h.Version)
	if h.Version == 1 {
		putSection(&w, h.Metadata)
		putSection(&w, h.Graph)
		putSection(&w, h.Weights)
		return
	}
	w.U32(uint32(h.Features))
	w.U32(h.HeaderSize)
	putSection(&w, h.Metadata)
	putSection(&w, h.Graph)
	putSection(&w, h.Weights)
	putSection(&w, h.Signature)
	putSection(&w, h.Compression)
	w.U32(h.MetadataChecksum)
	w.U32(h.GraphChecksum)
	w.U32(h.WeightsChecksum)
	sumAt := len(w)
	w.U32(0) // header_checksum, filled in below
	w.U32(h.MinReaderVersion)
	w.U32(h.WriterVersion)
	binary.LittleEndian.PutUint32(b[sumAt:], tensor.CRC32(b))
}

func putSection(w *wire.Buffer, s Section) {
	w.I64(s.Offset)
	w.I64(s.Size)
}

// refusePickle returns an error for the container of another program that has the same
// magic number and holds a Python pickle.
func refusePickle(src driver.Source, head []byte) error {
	const fixed = 24
	size := uint64(src.Size())
	if len(head) <= fixed || head[fixed] != '{' {
		return nil
	}
	a := binary.LittleEndian.Uint64(head[8:])
	b := binary.LittleEndian.Uint64(head[16:])
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
	return errorf("magic", 0, format.ErrUnsupported,
		"this is a container of a Python pickle with the magic of MLE, not a model; pickles are never read")
}

// findShift sets Shift if a version 1 file is from the exporter that wrote a header of 80
// bytes but offsets for one of 64.
func (h *Header) findShift(head []byte, size int64) {
	const end = headerV1 + exportShift
	last := max(h.Metadata.End(), h.Graph.End(), h.Weights.End())
	if h.Metadata.Offset != headerV1 || size-last != exportShift || len(head) <= end ||
		head[end] != '{' || [exportShift]byte(head[headerV1:]) != [exportShift]byte{} {
		return
	}
	h.Shift = exportShift
	h.Metadata.Offset += exportShift
	h.Graph.Offset += exportShift
	h.Weights.Offset += exportShift
}

// namedSection is a section with the prefix of its fields' names.
type namedSection struct {
	name string
	Section
}

// sections lists the sections in the order of the header.
func (h *Header) sections() []namedSection {
	return []namedSection{
		{"metadata", h.Metadata},
		{"graph", h.Graph},
		{"weights", h.Weights},
		{"signature", h.Signature},
		{"compression", h.Compression},
	}
}

// checkPlaces checks that the sections are behind the header and within the file, do
// not overlap, leave no bytes behind the last, and match the flags.
func (p *parser) checkPlaces() error {
	f := p.f
	h := &f.h
	size := f.src.Size()
	all := h.sections()
	end := int64(h.HeaderSize)
	if end > size {
		return errorf("header", size, format.ErrTruncated, "%d bytes, %d are there", end, size)
	}
	for i, s := range all {
		if s.End() > size {
			return f.headerErrorf(s.name+"_offset", format.ErrTruncated,
				"the section reaches from %d to %d, the file ends at %d", s.Offset, s.End(), size)
		}
		end = max(end, s.End())
		if s.Size == 0 {
			continue
		}
		if s.Offset < int64(h.HeaderSize) {
			return f.headerErrorf(s.name+"_offset", format.ErrCorrupt,
				"the section begins at %d, inside the header", s.Offset)
		}
		for _, t := range all[:i] {
			if t.Size > 0 && s.Offset < t.End() && t.Offset < s.End() {
				return f.headerErrorf(s.name+"_offset", format.ErrCorrupt,
					"the section overlaps the one at %s_offset", t.name)
			}
		}
	}
	switch {
	case end < size:
		return corruptf("file size", end, "%d bytes after the last section", size-end)
	case h.Features.Has(Compression) != (h.Compression.Size > 0),
		h.Features.Has(Signing) != (h.Signature.Size > 0):
		return f.headerErrorf("feature_flags", format.ErrCorrupt,
			"%v, but the sections of compression and signature have %d and %d bytes",
			h.Features, h.Compression.Size, h.Signature.Size)
	case h.plainSize() < 0:
		return f.headerErrorf("weights_size", format.ErrCorrupt, "%d bytes cannot hold nonce and tag",
			h.Weights.Size)
	case h.Graph.Size < graphHead:
		return f.headerErrorf("graph_size", format.ErrCorrupt, "%d, the counts alone take %d",
			h.Graph.Size, graphHead)
	}
	return nil
}
