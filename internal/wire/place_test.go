package wire

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// TestPlace: a place adds what an error lacks, and changes nothing that it says.
func TestPlace(t *testing.T) {
	full := Error("mag", "x", 8, tensor.ErrCorrupt)
	for _, tt := range []struct {
		name                string
		err                 error
		format, path, field string
		want                string
	}{
		{"no error", nil, "mag", "a.mag", "x", "<nil>"},
		{"bare", tensor.ErrClosed, "mag", "a.mag", "x", "mag: a.mag: x: closed"},
		{"path", full, "", "a.mag", "", "mag: a.mag: at 0x8: x: corrupt"},
		{"nothing is known", full, "", "", "", "mag: at 0x8: x: corrupt"},
		{"all is said", Place(full, "", "a.mag", ""), "mle", "b.mle", "y", "mag: a.mag: at 0x8: x: corrupt"},
		{"field", Error("", "", 8, tensor.ErrCorrupt), "mag", "", "y", "mag: at 0x8: y: corrupt"},
		{"wrapped", fmt.Errorf("part 2: %w", Error("", "x", 8, tensor.ErrCorrupt)), "mag", "a.mag", "", "mag: a.mag: at 0x8: x: part 2: at 0x8: x: corrupt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := fmt.Sprint(tt.err)
			got := Place(tt.err, tt.format, tt.path, tt.field)
			if d := cmp.Diff(tt.want, fmt.Sprint(got)); d != "" {
				t.Error(d)
			}
			if after := fmt.Sprint(tt.err); after != before {
				t.Errorf("it changed %s to %s", before, after)
			}
			if tt.err != nil && !errors.Is(got, tensor.ErrCorrupt) && !errors.Is(got, tensor.ErrClosed) {
				t.Error("it does not wrap its sentinel")
			}
		})
	}
	if got := Place(full, "mag", "", "z"); got != full {
		t.Error("an error that lacks nothing is copied")
	}
}
