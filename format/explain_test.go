package format

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// TestSignedChecksums: with a signature inside, which covers the checksums, a wrong one is ErrSignature,
// in whatever form the format returns it.
func TestSignedChecksums(t *testing.T) {
	d := &toy{tensors: []driver.Tensor{u8("w", 0, 4)}}
	m := openToy(t, storedFile(t, "m.toy", ramp(8)), d)
	m.c.trust = &trusted{key: "any"}
	for _, err := range []error{
		tensor.ErrChecksum,
		fmt.Errorf("part: %w", tensor.ErrChecksum),
		&tensor.Error{Field: "part", Err: tensor.ErrChecksum},
	} {
		got := m.explain(err)
		if !errors.Is(got, tensor.ErrSignature) || !errors.Is(got, tensor.ErrChecksum) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if got := m.explain(io.ErrUnexpectedEOF); errors.Is(got, tensor.ErrSignature) {
		t.Errorf("%v is ErrSignature", got)
	}
	m.c.trust = nil
}
