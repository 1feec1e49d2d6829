package mobi

import (
	"github.com/weightmap/weightmap/format/driver"
)

// The declared checksums: of the whole file, of the header, and of the rest of the structure, which
// has no other.
const (
	fileSum = iota
	headerSum
	restSum
	numSums
)

// declareHeader sets the checksum of the header, if the file records one. It is at an offset.
func (f *parsed) declareHeader(at int64) {
	s := &f.declared[headerSum]
	s.Name = "header"
	f.ranges[0] = driver.Range{Size: headerSize}
	s.Ranges = f.ranges[:1]
	if f.header.Checksum == 0 {
		return
	}
	f.headerDigest[0] = driver.Digest{
		Kind:   driver.CRC32,
		Want:   uint64(f.header.Checksum),
		Field:  "header checksum",
		Offset: at,
	}
	f.zeroed[0] = driver.Range{Offset: at, Size: checksumSize}
	s.Accept = f.headerDigest[:]
	s.Zeroed = f.zeroed[:]
}

// sums implements driver.Parsed. The footer is an Adler-32 or a CRC-32 of all that is before it,
// all constants included.
func (f *parsed) sums() []driver.Sum {
	h := &f.header
	digest := driver.Digest{
		Kind:   driver.Adler32,
		Want:   uint64(f.footer),
		Field:  "footer",
		Offset: h.graphEnd(),
	}
	crc := digest
	crc.Kind = driver.CRC32
	f.declared[fileSum] = driver.Sum{
		Name:   "file",
		Accept: []driver.Digest{digest, crc},
		Ranges: []driver.Range{{Size: h.graphEnd()}},
		Hidden: true,
	}
	f.declared[restSum] = driver.Sum{
		Name: "metadata and operators",
		Ranges: []driver.Range{
			{Offset: int64(h.MetadataOffset), Size: int64(h.TensorOffset - h.MetadataOffset)},
			{Offset: int64(h.GraphOffset), Size: h.graphEnd() - int64(h.GraphOffset)},
		},
	}
	return f.declared[:]
}

// sumsOf implements driver.Parsed.
func (f *parsed) sumsOf(int) (from, to int) { return fileSum, fileSum + 1 }
