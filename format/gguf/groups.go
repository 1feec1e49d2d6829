package gguf

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/internal/vector"
)

// Blocks of 256 elements in groups of 16 or 32 that have a scale each. Their bytes hold the bits
// of several rows of elements: 2 bits of elements l, l+32, l+64 and l+96, for example.

// groupsQ2K: 16 scales and minimums of 4 bits, 2-bit elements, d, dmin.
var groupsQ2K = vector.Groups{
	Size: 84, Halves: 2, LowMask: 3,
	Rows: [8]vector.Row{{16, 0}, {16, 2}, {16, 4}, {16, 6}, {48, 0}, {48, 2}, {48, 4}, {48, 6}},
	Unpack: func(s *vector.Scales, b []byte) {
		s.D = half(b[80:])
		s.Min = half(b[82:])
		for i := range s.Scale {
			x := binary.LittleEndian.Uint64(b[8*i:])
			s.Scale[i] = x & (15 * ones)
			s.Low[i] = x >> 4 & (15 * ones)
		}
	},
}

// groupsQ3K: third bits (clear means 4 less), 2-bit elements, 16 scales of 6 bits, d.
var groupsQ3K = vector.Groups{
	Size: 110, Halves: 2, LowMask: 3, HighMask: 1, HighUp: 2, Base: 4,
	Rows: [8]vector.Row{
		{32, 0, 0, 0}, {32, 2, 0, 1}, {32, 4, 0, 2}, {32, 6, 0, 3},
		{64, 0, 0, 4}, {64, 2, 0, 5}, {64, 4, 0, 6}, {64, 6, 0, 7},
	},
	Unpack: func(s *vector.Scales, b []byte) {
		low := binary.LittleEndian.Uint64(b[96:])
		high := uint64(binary.LittleEndian.Uint32(b[104:]))
		high |= high << 32 >> 2
		s.D = half(b[108:])
		s.Scale[0] = less32(low&(15*ones) | high&(3*ones)<<4)
		s.Scale[1] = less32(low>>4&(15*ones) | high>>4&(3*ones)<<4)
	},
}

// groupsQ4K: d, dmin, packed scales and minimums, halves in groups of 32.
var groupsQ4K = vector.Groups{
	Size: 144, Halves: 1, LowMask: 15,
	Rows:   [8]vector.Row{{16, 0}, {16, 4}, {48, 0}, {48, 4}, {80, 0}, {80, 4}, {112, 0}, {112, 4}},
	Unpack: packedScales,
}

// groupsQ5K: as Q4_K, with the fifth bits of group i in bit i of 32 bytes.
var groupsQ5K = vector.Groups{
	Size: 176, Halves: 1, LowMask: 15, HighMask: 1, HighUp: 4,
	Rows: [8]vector.Row{
		{48, 0, 16, 0}, {48, 4, 16, 1}, {80, 0, 16, 2}, {80, 4, 16, 3},
		{112, 0, 16, 4}, {112, 4, 16, 5}, {144, 0, 16, 6}, {144, 4, 16, 7},
	},
	Unpack: packedScales,
}

// groupsQ6K: low halves, upper 2 bits, 16 signed scales, d.
var groupsQ6K = vector.Groups{
	Size: 210, Halves: 2, LowMask: 15, HighMask: 3, HighUp: 4, Base: 32,
	Rows: [8]vector.Row{
		{0, 0, 128, 0}, {32, 0, 128, 2}, {0, 4, 128, 4}, {32, 4, 128, 6},
		{64, 0, 160, 0}, {96, 0, 160, 2}, {64, 4, 160, 4}, {96, 4, 160, 6},
	},
	Unpack: func(s *vector.Scales, b []byte) {
		s.D = half(b[208:])
		s.Scale[0] = binary.LittleEndian.Uint64(b[192:])
		s.Scale[1] = binary.LittleEndian.Uint64(b[200:])
	},
}

// groupsTQ2_0: 2-bit elements, 1 meaning 0; d.
var groupsTQ2_0 = vector.Groups{
	Size: 66, Halves: 1, LowMask: 3, Base: 1,
	Rows: [8]vector.Row{{0, 0}, {0, 2}, {0, 4}, {0, 6}, {32, 0}, {32, 2}, {32, 4}, {32, 6}},
	Unpack: func(s *vector.Scales, b []byte) {
		s.D = half(b[64:])
		s.Scale[0] = ones
	},
}

// ones has 1 in each byte.
const ones = 0x0101010101010101

// packedScales unpacks d, dmin and the eight scales and minimums of Q4_K and Q5_K. The first
// four have 6 bits of a byte; the others have 4, and above those the upper 2 of the first.
func packedScales(s *vector.Scales, b []byte) {
	s.D = half(b)
	s.Min = half(b[2:])
	scales := binary.LittleEndian.Uint32(b[4:])
	minimums := binary.LittleEndian.Uint32(b[8:])
	nibbles := binary.LittleEndian.Uint32(b[12:])
	s.Scale[0] = uint64(scales&sixes) | uint64(nibbles&fours|scales>>2&twos)<<32
	s.Low[0] = uint64(minimums&sixes) | uint64(nibbles>>4&fours|minimums>>2&twos)<<32
}

// Bits of each of four bytes: 0 to 5, 0 to 3, 4 and 5.
const sixes, fours, twos = 0x3f3f3f3f, 0x0f0f0f0f, 0x30303030

// less32 subtracts 32 from each of eight bytes of 6 bits.
func less32(x uint64) uint64 {
	x ^= 32 * ones
	return x | x&(32*ones)*6
}
