package driver

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// TestCheckName compares with tensor.CheckName, and counts what a long name costs.
func TestCheckName(t *testing.T) {
	for _, name := range []string{"", "w", "a\x00b", "\xff", "Größe", "encoder.layer.000.attention.self.query.weight"} {
		if want, got := tensor.CheckName(name), CheckName([]byte(name)); fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for at := range 17 { // any byte anywhere, in names of 16 and 17 bytes
		for c := range 256 {
			name := bytes.Repeat([]byte{'w'}, max(16, at+1))
			name[at] = byte(c)
			if want, got := tensor.CheckName(string(name)), CheckName(name); fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("%q: %v, want %v", name, got, want)
			}
		}
	}
	long := []byte("encoder.layer.000.attention.self.query.weight")
	if diff := cmp.Diff(0.0, testing.AllocsPerRun(10, func() { _ = CheckName(long) })); diff != "" {
		t.Errorf("allocations (-want +got)\n%s", diff)
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
