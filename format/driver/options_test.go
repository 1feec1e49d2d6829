package driver

import (
	"testing"
)

func TestCheck(t *testing.T) {
	for c, want := range map[Check]bool{CheckDefault: true, CheckStructure: false, CheckTouch: true, CheckAll: true} {
		if c.Sums() != want {
			t.Errorf("%d: sums %v", c, c.Sums())
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
