package mag

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Checksum selects the form of the header checksum that the writer uses in
// version 1.
type Checksum uint8

const (
	// CRC32C is the form of the reference implementation: CRC-32C (Castagnoli) of
	// the bytes from num_tensors, at 12, to the end of the tensor records.
	CRC32C Checksum = iota
	// CRC32 is the form of the specification's wording: CRC-32 (IEEE) of the header,
	// with the checksum field zeroed, and of all records.
	CRC32
)

// sumForm is a way to compute the checksum. Files do not record it; readers try
// all forms.
type sumForm struct {
	whole  bool // includes the header before the checksum, and zeros in its place
	update func(sum uint32, b []byte) uint32
	kind   string // name for a verification
	note   string // how it differs from the reference
}

var sumForms = [...]sumForm{
	{false, tensor.UpdateCRC32C, "crc32c", ""}, // the reference
	{true, tensor.UpdateCRC32, "crc32", "checksum is CRC-32 (IEEE) of header and records, not the reference's CRC-32C from byte 12"},
	{false, tensor.UpdateCRC32, "crc32", "checksum is CRC-32 (IEEE) from byte 12, not the reference's CRC-32C"},
	{true, tensor.UpdateCRC32C, "crc32c", "checksum is CRC-32C of header and records, not the reference's from byte 12"},
}

// sum returns the checksum of the structural part b.
func (c *container) sum(f *sumForm, b []byte) (sum uint32) {
	if f.whole {
		sum = f.update(f.update(0, b[:c.checksumAt]), make([]byte, 4))
	}
	return f.update(sum, b[c.checksumAt+4:len(b)-c.uncovered])
}

// checksum checks the checksum of the structural part b and returns its form.
func (c *container) checksum(b []byte) (*sumForm, error) {
	stored := u32(b, int(c.checksumAt))
	for i := range sumForms[:c.sums] {
		if f := &sumForms[i]; c.sum(f, b) == stored {
			return f, nil
		}
	}
	return &sumForms[0], fmt.Errorf("%w: stored %08x, computed %08x", format.ErrChecksum, stored, c.sum(&sumForms[0], b))
}
