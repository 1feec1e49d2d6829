package mag

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
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
	whole  bool // includes the header before byte 12, with a zero checksum
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

// compute returns the checksum of the structural part s, header and records.
func (f *sumForm) compute(s []byte) (sum uint32) {
	if f.whole {
		sum = f.update(f.update(0, s[:checksumOffset]), make([]byte, checksummedFrom-checksumOffset))
	}
	return f.update(sum, s[checksummedFrom:])
}

// checkV1 returns the form whose checksum of the structural part s matches.
func checkV1(s []byte) (*sumForm, error) {
	stored := u32(s, checksumOffset)
	for i := range sumForms {
		if f := &sumForms[i]; f.compute(s) == stored {
			return f, nil
		}
	}
	return &sumForms[0], checksumError(checksumOffset, stored, sumForms[0].compute(s))
}

// checkSnapshot checks the checksum of the structural part s, which ends with
// "BUF!". The checksum does not cover that marker.
func checkSnapshot(s []byte) error {
	stored, sum := u32(s, snapChecksumAt), tensor.UpdateCRC32C(0, s[snapSummedFrom:len(s)-len(markerBuffer)])
	if sum != stored {
		return checksumError(snapChecksumAt, stored, sum)
	}
	return nil
}

func checksumError(at int64, stored, computed uint32) error {
	return wire.Errorf(formatName, "checksum", at, format.ErrChecksum, "stored %08x, computed %08x", stored, computed)
}
