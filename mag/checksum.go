package mag

import (
	"github.com/weightmap/weightmap/format/driver"
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
	whole bool // includes the header before the checksum, and zeros in its place
	kind  driver.Kind
	note  string // how it differs from the reference
}

// sumForms are in the order in which they are compared.
var sumForms = [...]sumForm{
	{false, driver.CRC32C, ""}, // the reference
	{false, driver.CRC32, "checksum is CRC-32 (IEEE) from byte 12, not the reference's CRC-32C"},
	{true, driver.CRC32,
		"checksum is CRC-32 (IEEE) of header and records, not the reference's CRC-32C from byte 12"},
	{true, driver.CRC32C,
		"checksum is CRC-32C of header and records, not the reference's from byte 12"},
}

// form returns the form that a writer uses.
func (c Checksum) form() *sumForm {
	if c == CRC32 {
		return &sumForms[2]
	}
	return &sumForms[0]
}

// checksumSize is the size of the checksum.
const checksumSize = 4

// sum returns the checksum of the structural part b.
func (c *container) sum(f *sumForm, b []byte) uint32 {
	update := tensor.UpdateCRC32C
	if f.kind == driver.CRC32 {
		update = tensor.UpdateCRC32
	}
	sum := uint32(0)
	if f.whole {
		sum = update(sum, b[:c.checksumAt])
		sum = update(sum, make([]byte, checksumSize))
	}
	return update(sum, b[c.checksumAt+checksumSize:len(b)-c.uncovered])
}

// sums is the declared checksum with the memory of all its forms, so that opening a file does not
// allocate for it.
type sums struct {
	from12, whole driver.Sum
	accept        [2][2]driver.Digest
	ranges        [2]driver.Range
	zeroed        [1]driver.Range
}

// formOf returns the form of the digest of a number that Compare returns, nil for -1.
func formOf(n int) *sumForm {
	if n < 0 {
		return nil
	}
	return &sumForms[n]
}

// declare sets the checksum of a structural part of size bytes, in the forms that files may have.
func (s *sums) declare(c *container, size int64, stored uint32) {
	for i := range sumForms {
		s.accept[i/2][i%2] = driver.Digest{Kind: sumForms[i].kind, Want: uint64(stored),
			Field: "checksum", Offset: c.checksumAt}
	}
	from := c.checksumAt + checksumSize
	end := size - int64(c.uncovered)
	s.ranges = [2]driver.Range{{Offset: from, Size: end - from}, {Size: end}}
	s.zeroed[0] = driver.Range{Offset: c.checksumAt, Size: checksumSize}
	s.from12 = driver.Sum{Name: c.covered, Accept: s.accept[0][:1], Ranges: s.ranges[:1]}
	if c.sums > 1 {
		s.whole = driver.Sum{Name: c.covered, Accept: s.accept[1][:], Ranges: s.ranges[1:],
			Zeroed: s.zeroed[:]}
		s.from12.Accept = s.accept[0][:]
		s.from12.Or = &s.whole
	}
}
