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
