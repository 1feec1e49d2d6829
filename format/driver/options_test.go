package driver

import "testing"

// TestInflationLimits: by default a section may inflate to 256 times what is
// stored, to 16 MiB in any case, and to the limit at most; a caller's limit is
// taken as it is.
func TestInflationLimits(t *testing.T) {
	for _, c := range []struct {
		o               Options
		stored          int64
		metadata, graph int64
	}{
		{Options{}, 0, 16 << 20, 16 << 20},
		{Options{}, 1 << 16, 16 << 20, 16 << 20},
		{Options{}, 1<<16 + 1, 16<<20 + 256, 16<<20 + 256},
		{Options{}, 1 << 18, 64 << 20, 64 << 20},
		{Options{}, 1 << 20, 64 << 20, 256 << 20},
		{Options{}, 1 << 62, 64 << 20, 1 << 30},
		{Options{MaxMetadataBytes: 5, MaxGraphBytes: 1 << 40}, 1, 5, 1 << 40},
		{Options{MaxMetadataBytes: DefaultMaxMetadataBytes, MaxGraphBytes: DefaultMaxGraphBytes}, 1, 64 << 20, 1 << 30},
	} {
		if m, g := c.o.MetadataLimit(c.stored), c.o.GraphLimit(c.stored); m != c.metadata || g != c.graph {
			t.Errorf("%+v, %d bytes stored: %d and %d, want %d and %d", c.o, c.stored, m, g, c.metadata, c.graph)
		}
	}
}

func TestCheck(t *testing.T) {
	for c, want := range map[Check][2]bool{
		CheckDefault: {true, true}, CheckStructure: {true, false}, CheckTouch: {true, true}, CheckAll: {true, true}, CheckAll + 1: {false, true},
	} {
		if c.Valid() != want[0] || c.Sums() != want[1] {
			t.Errorf("%d: valid %v, sums %v", c, c.Valid(), c.Sums())
		}
	}
}

func TestNames(t *testing.T) {
	for k, want := range map[Kind]string{NoSum: "", XXH64: "xxh64", CRC32: "crc32", CRC32C: "crc32c", Adler32: "adler32", Adler32 + 1: "", 255: ""} {
		if k.String() != want {
			t.Errorf("kind %d is %q", k, k.String())
		}
	}
	for s, want := range map[SignatureState]string{Unsigned: "unsigned", SignatureUnknown: "not checked", SignatureTrusted: "trusted"} {
		if s.String() != want {
			t.Errorf("state %d is %q", s, s.String())
		}
	}
}
