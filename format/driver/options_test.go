package driver

import (
	"context"
	"reflect"
	"testing"
)

// TestCheckOptions: what is not set gets its default, and nothing else changes.
func TestCheckOptions(t *testing.T) {
	var m Memory
	want := Options{Context: context.Background(), Memory: &m}
	got, err := CheckOptions(nil, &m)
	if !reflect.DeepEqual(want, got) || err != nil {
		t.Errorf("nil: %+v, %v", got, err)
	}
	mine := Options{Context: t.Context(), Format: "mag", Check: CheckAll, MaxMemory: 7, CacheBytes: 6, Workers: 2, Key: []byte{5}, Dir: "d", Debug: true}
	got, err = CheckOptions(&mine, &m)
	if mine.Memory = &m; !reflect.DeepEqual(mine, got) || err != nil || m.Left() != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Key[0]++; mine.Key[0] != 5 {
		t.Error("the key is the caller's")
	}
}

// TestInflationLimits: a section may inflate to 256 times what is stored, to 16 MiB in any case, and to
// a limit at most.
func TestInflationLimits(t *testing.T) {
	for _, c := range []struct{ stored, metadata, graph int64 }{
		{0, 16 << 20, 16 << 20}, {1 << 16, 16 << 20, 16 << 20}, {1<<16 + 1, 16<<20 + 256, 16<<20 + 256},
		{1 << 18, 64 << 20, 64 << 20}, {1 << 20, 64 << 20, 256 << 20}, {1 << 62, 64 << 20, 1 << 30},
	} {
		if m, g := MetadataLimit(c.stored), GraphLimit(c.stored); m != c.metadata || g != c.graph {
			t.Errorf("%d bytes stored: %d and %d, want %d and %d", c.stored, m, g, c.metadata, c.graph)
		}
	}
}

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
