package wia

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// span is a range of a file.
type span struct{ off, size int64 }

func (s span) end() int64 { return s.off + s.size }

// header is the decoded header of a file.
type header struct {
	magic       string
	minor       uint16
	blocks      [numBlocks]span
	compression Compression
	encryption  uint8       // 1 for AES-256-GCM
	fields      wire.Record // of the file that was read
}

// The fields of the header that errors name after it was read.
const (
	encryptionField = "encryption"
	signatureField  = "signature_size"
)

// bytes returns the encoded header; reserved bytes are zero.
func (h *header) bytes() []byte {
	w := make(wire.Buffer, 0, headerSize)
	w.Str(magic)
	w.U16(major)
	w.U16(minor)
	for _, s := range h.blocks[metadataBlock:] {
		w.I64(s.off)
		w.I64(s.size)
	}
	w.U8(uint8(h.compression))
	w.U8(h.encryption)
	return w[:headerSize]
}

// parse reads the header of section 2.2. It checks the magic number, the version
// and the codes, and that the blocks are within the file and do not overlap.
func (h *header) parse(src driver.Source) error {
	b, err := driver.Prefix(src, headerSize)
	if err != nil {
		return err
	}
	h.fields = wire.NewRecord(formatName, b, 0)
	h.read(&h.fields, uint64(src.Size()))
	h.checkLayout(src.Size())
	return h.fields.Err()
}

func (h *header) read(r *wire.Record, fileSize uint64) {
	h.magic = string(r.Bytes("magic", uint64(len(magic))))
	if h.magic != magic && h.magic != magicASCII {
		r.Bad(format.ErrMagic, "% x instead of %q", h.magic, magic)
	}
	v := r.U16("version_major")
	if v != major {
		r.Bad(format.ErrVersion, "%d", v)
	}
	h.minor = r.U16("version_minor")
	h.blocks[headerBlock].size = headerSize
	h.blocks[metadataBlock] = readSpan(r, "metadata_offset", "metadata_size", fileSize)
	h.blocks[graphBlock] = readSpan(r, "graph_offset", "graph_size", fileSize)
	h.blocks[tensorBlock] = readSpan(r, "tensor_offset", "tensor_size", fileSize)
	h.blocks[signatureBlock] = readSpan(r, "signature_offset", signatureField, fileSize)
	h.compression = Compression(r.U8("compression"))
	if h.compression > Zstd {
		r.Bad(format.ErrUnsupported, "code %d", h.compression)
	}
	h.encryption = r.U8(encryptionField)
	if h.encryption > 1 {
		r.Bad(format.ErrUnsupported, "code %d", h.encryption)
	}
	r.Skip("reserved", 182)
}

// readSpan reads the offset and the size of a block.
func readSpan(r *wire.Record, offsetField, sizeField string, fileSize uint64) span {
	off := r.U64(offsetField)
	if off > fileSize {
		r.Bad(tensor.ErrTruncated, "%d, the file has %d bytes", off, fileSize)
	}
	size := r.U64(sizeField)
	if size > fileSize-off {
		r.Bad(tensor.ErrTruncated, "%d bytes from offset %d, the file has %d", size, off, fileSize)
	}
	return span{int64(off), int64(size)}
}

// bad returns an error for a field of the header.
func (h *header) bad(field string, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, h.fields.At(field), sentinel, text, args...)
}

// checkLayout refuses overlapping blocks and bytes after the last block.
func (h *header) checkLayout(fileSize int64) {
	r := &h.fields
	last := int64(0)
	for i, b := range h.blocks {
		last = max(last, b.end())
		for j, o := range h.blocks[:i] {
			if b.size > 0 && o.size > 0 && b.off < o.end() && o.off < b.end() {
				r.BadField(block(i).String()+"_offset", tensor.ErrCorrupt, "%d..%d overlaps the %v at %d..%d",
					b.off, b.end(), block(j), o.off, o.end())
			}
		}
	}
	if fileSize > last && r.Err() == nil {
		r.Stop(wire.Errorf(formatName, "end of file", last, tensor.ErrCorrupt,
			"%d bytes follow the last block", fileSize-last))
	}
}
