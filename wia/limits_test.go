package wia

import "testing"

// TestInflationLimits: a section may inflate to 256 times what is stored, to 16 MiB in any case, and to
// a limit at most.
func TestInflationLimits(t *testing.T) {
	for _, c := range []struct{ stored, metadata, graph int64 }{
		{0, 16 << 20, 16 << 20}, {1 << 16, 16 << 20, 16 << 20}, {1<<16 + 1, 16<<20 + 256, 16<<20 + 256},
		{1 << 18, 64 << 20, 64 << 20}, {1 << 20, 64 << 20, 256 << 20}, {1 << 62, 64 << 20, 1 << 30},
	} {
		if m, g := metadataLimit(c.stored), graphLimit(c.stored); m != c.metadata || g != c.graph {
			t.Errorf("%d bytes stored: %d and %d, want %d and %d", c.stored, m, g, c.metadata, c.graph)
		}
	}
}
