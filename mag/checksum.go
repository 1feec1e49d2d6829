package mag

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Checksum is a form of version 1's header checksum that the writer knows.
type Checksum uint8

const (
	// CRC32C is the reference implementation's: CRC-32C (Castagnoli) of the bytes
	// from num_tensors, at 12, to the end of the tensor records.
	CRC32C Checksum = iota
	// CRC32 is what the specification's wording says: CRC-32 (IEEE) of the
	// header with the checksum field zeroed and of all records.
	CRC32
)

// sumForm is how a stored checksum was computed. The polynomial and the range
// of a file are not recorded; readers try all four combinations.
type sumForm uint8

const (
	sumUnknown     sumForm = iota // not checked
	sumReference                  // CRC-32C from byte 12
	sumIEEEWhole                  // CRC-32 of everything with the field zeroed
	sumIEEEShort                  // CRC-32 from byte 12
	sumCRC32CWhole                // CRC-32C of everything with the field zeroed
)

// compute returns the checksum of the structural part s, header and records.
func (f sumForm) compute(s []byte) uint32 {
	update := tensor.UpdateCRC32C
	if f == sumIEEEWhole || f == sumIEEEShort {
		update = tensor.UpdateCRC32
	}
	var sum uint32
	if f == sumIEEEWhole || f == sumCRC32CWhole {
		sum = update(update(0, s[:checksumOffset]), make([]byte, checksummedFrom-checksumOffset))
	}
	return update(sum, s[checksummedFrom:])
}

// kind returns the name of the polynomial.
func (f sumForm) kind() string {
	if f == sumIEEEWhole || f == sumIEEEShort {
		return "crc32"
	}
	return "crc32c"
}

// note describes a form that is not the reference's.
func (f sumForm) note() string {
	switch f {
	case sumIEEEWhole:
		return "checksum is CRC-32 (IEEE) of header and records, not the reference's CRC-32C from byte 12"
	case sumIEEEShort:
		return "checksum is CRC-32 (IEEE) from byte 12, not the reference's CRC-32C"
	case sumCRC32CWhole:
		return "checksum is CRC-32C of header and records, not the reference's from byte 12"
	}
	return ""
}

// checkV1 finds the form in which the checksum of the structural part s holds.
func checkV1(s []byte) (sumForm, error) {
	stored := u32(s, checksumOffset)
	for f := sumReference; f <= sumCRC32CWhole; f++ {
		if f.compute(s) == stored {
			return f, nil
		}
	}
	return sumUnknown, checksumError(checksumOffset, stored, sumReference.compute(s))
}

// checkSnapshot checks the checksum of the structural part s, which leaves out "BUF!".
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

// String returns "CRC-32C" or "CRC-32".
func (c Checksum) String() string {
	switch c {
	case CRC32C:
		return "CRC-32C"
	case CRC32:
		return "CRC-32"
	}
	return fmt.Sprintf("Checksum(%d)", uint8(c))
}
