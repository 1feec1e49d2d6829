package mag

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestVerifyStructure checks that Verify compares a checksum that Open was told to
// ignore, and that CheckAll checks data on open.
func TestVerifyStructure(t *testing.T) {
	bad := baseV1()
	bad.sum = ptr(1)
	snap := baseSnapshot()
	snap.sum = ptr(1)
	for _, b := range [][]byte{bad.bytes(), snap.bytes()} {
		f, err := OpenBytes(b, &format.Options{Check: format.CheckStructure})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Verify(t.Context()); !errors.Is(err, format.ErrChecksum) {
			t.Errorf("verify: %v", err)
		}
	}
	file := goldenV1()
	file.metadata[3].payload++
	if _, err := OpenBytes(file.bytes(), nil); err != nil {
		t.Errorf("digests are checked on open: %v", err)
	}
	if _, err := OpenBytes(file.bytes(), &format.Options{Check: format.CheckAll}); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("CheckAll: %v", err)
	}
}
